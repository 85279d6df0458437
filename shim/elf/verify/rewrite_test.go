package verify_test

import (
	stdelf "debug/elf"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/elf"
	"example.com/miopen_hipdnn_shim/shim/elf/verify"
)

var mutations = flag.Int("mutations", 300, "mutated bytes per file in TestMutationScore; 0: every byte")

// rewrite writes a stock library and what the rewriter makes of it.
func rewrite(t testing.TB, stock []byte, want verify.Expect) (from, to string) {
	t.Helper()
	dir := t.TempDir()
	from, to = filepath.Join(dir, "stock.so"), filepath.Join(dir, "edited.so")
	require.NoError(t, os.WriteFile(from, stock, 0o644))
	_, err := elf.Rewrite(from, to, elf.Edit{
		Rename: want.Rename, SONAME: want.SONAME, RunPath: want.RunPath, Needed: want.Needed, AddNeeded: want.AddNeeded,
	})
	require.NoError(t, err)
	return from, to
}

// many adds enough NEEDED entries to use up what spare room .dynamic has.
func many(want verify.Expect) verify.Expect {
	for i := range 12 {
		want.AddNeeded = append(want.AddNeeded, fmt.Sprintf("libextra%d.so", i))
	}
	return want
}

// edits are what the rewriter is asked for.
var edits = []struct {
	name string
	want func() verify.Expect
}{
	{"nothing", func() verify.Expect { return verify.Expect{} }},
	{"rename only", func() verify.Expect { return verify.Expect{Rename: verify.Everything().Rename} }},
	{"SONAME only", func() verify.Expect { return verify.Expect{SONAME: "libother.so.3"} }},
	{"RUNPATH only", func() verify.Expect { p := "/opt/x"; return verify.Expect{RunPath: &p} }},
	{"no RUNPATH", func() verify.Expect { p := ""; return verify.Expect{RunPath: &p} }},
	{"NEEDED only", func() verify.Expect {
		return verify.Expect{Needed: map[string]string{"libc.so.6": "libc_other.so.6"}, AddNeeded: []string{"libm.so.6", "libz.so"}}
	}},
	{"everything", verify.Everything},
	{"everything, .dynamic moves", func() verify.Expect { return many(verify.Everything()) }},
}

func TestRewrites(t *testing.T) {
	for _, v := range verify.Variants {
		stock := verify.Compile(t, v.Flags...)
		for _, e := range edits {
			t.Run(v.Name+"/"+e.name, func(t *testing.T) {
				want := e.want()
				from, to := rewrite(t, stock, want)
				r, err := verify.Files(from, to, want)
				require.NoError(t, err)
				require.True(t, r.Clean(), "%+v", r)
				if len(want.Rename) > 0 || want.SONAME != "" {
					r, err := verify.Files(from, to, verify.Expect{})
					require.NoError(t, err)
					require.False(t, r.Clean(), "the file is taken for an unedited one")
					r, err = verify.Files(from, from, want)
					require.NoError(t, err)
					require.False(t, r.Clean(), "the unedited file is taken for an edited one")
				}
			})
		}
	}
}

// TestSecondRewrite edits what was edited before: the stock of the second edit ends with the first one's tables.
func TestSecondRewrite(t *testing.T) {
	for _, v := range verify.Variants {
		t.Run(v.Name, func(t *testing.T) {
			_, first := rewrite(t, verify.Compile(t, v.Flags...), many(verify.Everything()))
			b, err := os.ReadFile(first)
			require.NoError(t, err)
			runPath := "/second"
			want := verify.Expect{SONAME: "libsecond.so.2", RunPath: &runPath, Rename: map[string]string{"apiMath": "apiMath_impl"}}
			from, to := rewrite(t, b, want)
			r, err := verify.Files(from, to, want)
			require.NoError(t, err)
			require.True(t, r.Clean(), "%+v", r)
		})
	}
}

// TestNothingExported: such an object has a DT_GNU_HASH with empty buckets, and may have a PT_NOTE without bytes.
func TestNothingExported(t *testing.T) {
	dir := t.TempDir()
	source, library := filepath.Join(dir, "imports.c"), filepath.Join(dir, "imports.so")
	require.NoError(t, os.WriteFile(source, []byte("extern int imported(void);\n"+
		"__attribute__((visibility(\"hidden\"))) int inside(void) { return imported(); }\n"), 0o644))
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	out, err := exec.Command(cc, "-shared", "-fPIC", "-nostdlib", "-Wl,--hash-style=gnu", "-Wl,--build-id", "-o", library, source).CombinedOutput()
	require.NoError(t, err, string(out))
	bare := filepath.Join(dir, "bare.so")
	out, err = exec.Command("objcopy", "-R", ".note.gnu.build-id", "-R", ".note.gnu.property", library, bare).CombinedOutput()
	require.NoError(t, err, string(out))

	for _, path := range []string{library, bare} {
		stock, err := os.ReadFile(path)
		require.NoError(t, err)
		want := verify.Expect{SONAME: "libother.so.3"}
		from, to := rewrite(t, stock, want)
		r, err := verify.Files(from, to, want)
		require.NoError(t, err)
		require.True(t, r.Clean(), "%+v", r)

		// Control: a bucket that leads somewhere, in the edited file only.
		f, err := stdelf.Open(to)
		require.NoError(t, err)
		hash := f.Section(".gnu.hash")
		require.NotNil(t, hash)
		f.Close()
		edited, err := os.ReadFile(to)
		require.NoError(t, err)
		bucket := hash.Offset + 16 + 8*uint64(edited[hash.Offset+8])
		require.Zero(t, edited[bucket])
		edited[bucket] = 1
		require.NoError(t, os.WriteFile(to, edited, 0o644))
		r, err = verify.Files(from, to, want)
		require.NoError(t, err)
		require.False(t, r.Clean(), "a bucket that leads nowhere went unnoticed")
	}
}

// region names what a byte of a file belongs to.
func region(f *stdelf.File, shoff, size uint64, off uint64) string {
	switch {
	case off < 64:
		return "ELF header"
	case off < 64+56*uint64(len(f.Progs)):
		return "program headers"
	case off >= shoff && off < shoff+64*uint64(len(f.Sections)):
		return "section headers"
	}
	for _, s := range f.Sections {
		if s.Type != stdelf.SHT_NOBITS && s.Type != stdelf.SHT_NULL && off >= s.Offset && off-s.Offset < s.FileSize {
			switch s.Name {
			case ".dynsym", ".dynstr", ".gnu.hash", ".hash", ".gnu.version", ".gnu.version_d", ".gnu.version_r", ".rela.dyn", ".rela.plt", ".dynamic":
				return s.Name
			}
			return "other sections"
		}
	}
	return "between sections"
}

// TestMutationScore changes single bytes of rewritten files. Each change must be reported: the closed list of ranges that
// may differ leaves no byte without a meaning that some check compares.
func TestMutationScore(t *testing.T) {
	type score struct{ killed, all int }
	scores := map[string]*score{}
	var survivors []string
	for i, v := range verify.Variants {
		want := verify.Everything()
		if i%2 == 1 {
			want = many(want)
		}
		from, to := rewrite(t, verify.Compile(t, v.Flags...), want)
		b, err := os.ReadFile(to)
		require.NoError(t, err)
		f, err := stdelf.Open(to)
		require.NoError(t, err)
		file, err := os.OpenFile(to, os.O_RDWR, 0)
		require.NoError(t, err)
		shoff := f.ByteOrder.Uint64(b[40:])

		// Tables are small next to the rest of the file, so half of the mutations go to them.
		rng := rand.New(rand.NewPCG(uint64(i), 2))
		var places []uint64
		var tables []uint64
		for off := range uint64(len(b)) {
			switch r := region(f, shoff, uint64(len(b)), off); r {
			case "other sections", "between sections":
			default:
				tables = append(tables, off)
			}
			places = append(places, off)
		}
		if n := *mutations; n > 0 {
			places = places[:0]
			for i := range n {
				if i%2 == 0 {
					places = append(places, tables[rng.IntN(len(tables))])
				} else {
					places = append(places, rng.Uint64N(uint64(len(b))))
				}
			}
		}
		for _, off := range places {
			to8 := b[off] ^ byte(1+rng.IntN(255))
			_, err := file.WriteAt([]byte{to8}, int64(off))
			require.NoError(t, err)
			r, err := verify.Files(from, to, want)
			name := region(f, shoff, uint64(len(b)), off)
			s := scores[name]
			if s == nil {
				s = &score{}
				scores[name] = s
			}
			s.all++
			if err != nil || !r.Clean() {
				s.killed++
			} else {
				survivors = append(survivors, fmt.Sprintf("%s: byte %#x (%s) %#02x -> %#02x", v.Name, off, name, b[off], to8))
			}
			_, err = file.WriteAt(b[off:off+1], int64(off))
			require.NoError(t, err)
		}
		require.NoError(t, f.Close())
		require.NoError(t, file.Close())
		r, err := verify.Files(from, to, want)
		require.NoError(t, err)
		require.True(t, r.Clean(), "the file was not restored")
	}
	var names []string
	for name := range scores {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Logf("%-18s %5d of %5d reported", name, scores[name].killed, scores[name].all)
	}
	require.Greater(t, len(names), 10, "regions that were not touched at all")
	require.Empty(t, survivors, strings.Join(survivors, "\n"))
}
