package elf_test

import (
	"bytes"
	stdelf "debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/elf"
	"example.com/miopen_hipdnn_shim/shim/elf/verify"
)

const (
	// allocLimit bounds what one rewrite of a fixture may allocate, in bytes.
	// Fixtures are below 20 kB; relocations are read in chunks of 1 MiB.
	allocLimit = 8 << 20
	// hangLimit bounds how long it may take, on a loaded machine.
	hangLimit = 30 * time.Second
	// verifyLimit bounds the outputs that are verified: a mutated p_memsz can
	// ask for a gigabyte of zeros.
	verifyLimit = 32 << 20
)

type outcome int

const (
	declined outcome = iota
	editRefused
	accepted
	acceptedTooLarge
)

// try rewrites data and judges what happened: an error must be of this
// package's kinds and leave no output, an output must satisfy the verifier.
// The error is a finding.
func try(dir string, data []byte, e elf.Edit) (outcome, error) {
	src, dst := filepath.Join(dir, "in.so"), filepath.Join(dir, "out.so")
	_ = os.Remove(src) // of the round before; ext4 flushes files that are truncated
	_ = os.Remove(dst)
	if err := os.WriteFile(src, data, 0o644); err != nil {
		return 0, err
	}
	before := allocated()
	_, err := elf.Rewrite(src, dst, e)
	if n := allocated() - before; n > allocLimit+uint64(4*len(data)) {
		return 0, fmt.Errorf("a file of %d bytes took %d bytes of memory", len(data), n)
	}
	if err != nil {
		entries, _ := os.ReadDir(dir)
		if len(entries) != 1 {
			return 0, fmt.Errorf("after the error %q there are %d files", err, len(entries))
		}
		var format *elf.FormatError
		var edit *elf.EditError
		switch {
		case errors.As(err, &format):
			return declined, nil
		case errors.As(err, &edit):
			return editRefused, nil
		}
		return 0, fmt.Errorf("an error of another kind: %w", err)
	}
	if info, err := os.Stat(dst); err != nil || info.Size() > verifyLimit {
		return acceptedTooLarge, err
	}
	report, err := verify.Files(src, dst, expectation(e))
	if err != nil {
		return 0, fmt.Errorf("accepted, and the verifier cannot read it: %w", err)
	}
	if !report.Clean() {
		var s strings.Builder
		for _, c := range report.Checks {
			if len(c.Findings) > 0 {
				fmt.Fprintf(&s, "\n%s: %s", c.Name, strings.Join(c.Findings, "; "))
			} else if c.Compared == 0 && !c.Absent {
				fmt.Fprintf(&s, "\n%s: compared nothing", c.Name)
			}
		}
		return 0, fmt.Errorf("accepted, and the verifier objects: %s", s.String())
	}
	return accepted, nil
}

// memoryDir is a folder in memory, where the machine has one: the rounds write
// a few files each.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "elf-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// allocated is how many bytes this process has ever allocated.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// fuzzEdit touches everything that an edit can touch in this fixture.
func fuzzEdit(t testing.TB, path string) elf.Edit {
	e := elf.Edit{
		Rename: renameAll(t, path), SONAME: "libprivate.so.1", RunPath: pointer("$ORIGIN/private"),
		AddNeeded: []string{"libextra.so.1"},
	}
	if slices.Contains(readIdentity(t, path).needed, "libc.so.6") {
		e.Needed = map[string]string{"libc.so.6": "libother_c.so.6"}
	}
	return e
}

// The oracle of this file has to see damage: each of these, done to a good
// output, must be a finding.
func TestOracleSeesDamage(t *testing.T) {
	path := fixture("bfd-both")
	e := fuzzEdit(t, path)
	out, _ := rewrite(t, path, e)
	good := read(t, out)
	for _, tag := range []stdelf.DynTag{stdelf.DT_SYMTAB, stdelf.DT_GNU_HASH, stdelf.DT_HASH, stdelf.DT_VERSYM, stdelf.DT_RELA, stdelf.DT_JMPREL, stdelf.DT_STRTAB, stdelf.DT_VERDEF, stdelf.DT_VERNEED, stdelf.DT_INIT_ARRAY} {
		bad := slices.Clone(good)
		at(t, bad, tag)[30] ^= 0x10
		report, err := verify.Files(path, write(t, bad), expectation(e))
		require.False(t, err == nil && report.Clean(), "%v", tag)
	}
}

// Lengths shorter than the file are declined: at each multiple of 8, which is
// where tables begin and end, and in the middle of an entry.
func TestTruncation(t *testing.T) {
	for _, name := range []string{"bfd-both", "lld-relr", "mold-both"} {
		for _, sections := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s sections=%v", name, sections), func(t *testing.T) {
				path := fixture(name)
				whole, e, dir := read(t, path), fuzzEdit(t, path), memoryDir(t)
				if !sections {
					whole = dropSections(t, whole)
				}
				for n := range whole {
					if n%8 != 0 && n%8 != 7 {
						continue
					}
					got, err := try(dir, whole[:n], e)
					require.NoError(t, err, "length %d", n)
					require.Equal(t, declined, got, "length %d", n)
				}
				got, err := try(dir, whole, e)
				require.NoError(t, err)
				require.Equal(t, accepted, got)
			})
		}
	}
}

// Every byte of a fixture is changed once. Bytes of tables that the edit
// depends on are noticed; others are carried over, as the verifier sees.
func TestSingleByteCorruption(t *testing.T) {
	for _, name := range []string{"bfd-stripped", "lld-noversion", "mold-relr"} {
		t.Run(name, func(t *testing.T) {
			path := fixture(name)
			good, e, dir := read(t, path), fuzzEdit(t, path), memoryDir(t)
			rng := rand.New(rand.NewPCG(1, 2))
			count := map[outcome]int{}
			for i := range good {
				bad := slices.Clone(good)
				bad[i] ^= byte(1 + rng.IntN(255))
				got, err := try(dir, bad, e)
				require.NoError(t, err, "byte %#x from %#x to %#x", i, good[i], bad[i])
				count[got]++
			}
			t.Logf("%d bytes: %d declined, %d edits refused, %d accepted and verified", len(good), count[declined], count[editRefused], count[accepted])
			require.Greater(t, count[declined], 500)
			require.Positive(t, count[editRefused])
			require.Greater(t, count[accepted], 500)
		})
	}
}

// region is a structure that the mutator aims at.
type region struct{ off, size uint64 }

// regions finds the structures of an intact fixture.
func regions(t testing.TB, b []byte) []region {
	r := []region{{0, 64}, {le.Uint64(b[32:]), uint64(programs(b)) * 56}}
	if shoff := le.Uint64(b[40:]); shoff != 0 {
		r = append(r, region{shoff, uint64(le.Uint16(b[60:])) * 64})
	}
	p := programOf(t, b, stdelf.PT_DYNAMIC)
	dyn := region{le.Uint64(p[8:]), le.Uint64(p[32:])}
	r = append(r, dyn, dyn) // twice: it decides the most
	for o := dyn.off; o < dyn.off+dyn.size; o += 16 {
		switch tag := stdelf.DynTag(le.Uint64(b[o:])); tag {
		case stdelf.DT_SYMTAB, stdelf.DT_STRTAB, stdelf.DT_GNU_HASH, stdelf.DT_HASH, stdelf.DT_VERSYM, stdelf.DT_VERDEF,
			stdelf.DT_VERNEED, stdelf.DT_RELA, stdelf.DT_JMPREL, 36:
			off := uint64(len(b) - len(at(t, b, tag)))
			r = append(r, region{off, min(200, uint64(len(b))-off)})
		}
	}
	return r
}

// mutate makes one to four changes that know where the tables are and what
// values are near an edge.
func mutate(rng *rand.Rand, good []byte, rs []region) []byte {
	b := slices.Clone(good)
	for range 1 + rng.IntN(4) {
		r := rs[rng.IntN(len(rs))]
		if r.off >= uint64(len(b)) || r.size == 0 {
			continue
		}
		at := b[r.off+rng.Uint64N(min(r.size, uint64(len(b))-r.off)):]
		if width := []int{1, 2, 4, 8}[rng.IntN(4)]; len(at) > width {
			// Fields are aligned to their size.
			off := len(b) - len(at)
			at = b[off&^(width-1):]
			mutateField(rng, at[:width], uint64(len(b)))
		}
		switch rng.IntN(40) {
		case 0: // cut
			b = b[:rng.IntN(len(b))+1]
		case 1: // lengthen
			b = append(b, make([]byte, rng.IntN(5000))...)
		case 2: // one structure over another
			o := rs[rng.IntN(len(rs))]
			if o.off+o.size <= uint64(len(b)) && r.off < uint64(len(b)) {
				copy(b[r.off:], slices.Clone(b[o.off:][:rng.Uint64N(o.size+1)]))
			}
		case 3: // two entries change places
			const entry = 24
			if r.size > 2*entry && r.off+r.size <= uint64(len(b)) {
				i, j := rng.Uint64N(r.size/entry), rng.Uint64N(r.size/entry)
				x, y := b[r.off+i*entry:][:entry], b[r.off+j*entry:][:entry]
				tmp := slices.Clone(x)
				copy(x, y)
				copy(y, tmp)
			}
		}
	}
	return b
}

func mutateField(rng *rand.Rand, f []byte, size uint64) {
	var v uint64
	for i, c := range f {
		v |= uint64(c) << (8 * i)
	}
	switch rng.IntN(8) {
	case 0:
		v ^= 1 << rng.IntN(8*len(f))
	case 1:
		v = rng.Uint64()
	case 2:
		v += uint64(rng.IntN(65)) - 32
	case 3:
		v = size + uint64(rng.IntN(65)) - 32
	case 4:
		v = []uint64{0, 1, 2, 0x7fff, 0xffff, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 62, 1<<63 - 1, 1 << 63, ^uint64(0)}[rng.IntN(12)]
	case 5:
		v = rng.Uint64N(size)
	case 6:
		v = v&^0xff | rng.Uint64N(256)
	case 7:
		v = v*2 + 1
	}
	for i := range f {
		f[i] = byte(v >> (8 * i))
	}
}

// fuzzRounds is the number of mutated objects without FUZZ_SECONDS.
const fuzzRounds = 4000

// TestMutatedObjects rewrites mutated fixtures, with the verifier as judge of
// what is accepted. FUZZ_SECONDS sets how long, and then takes a new seed each
// time unless FUZZ_SEED sets it; without it the run is short and always the
// same. What fails is kept in TEST_UNDECLARED_OUTPUTS_DIR, or the temporary
// folder.
func TestMutatedObjects(t *testing.T) {
	seed, limit := uint64(1), time.Duration(0)
	if s := os.Getenv("FUZZ_SECONDS"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err, "FUZZ_SECONDS")
		limit, seed = time.Duration(n)*time.Second, uint64(time.Now().UnixNano())
	}
	if s := os.Getenv("FUZZ_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err, "FUZZ_SEED")
	}

	type subject struct {
		name    string
		content []byte
		regions []region
		edit    elf.Edit
	}
	var subjects []subject
	for _, path := range fixtures(t) {
		// rodynamic refuses every edit that moves .dynamic. imports has nothing to look up: a mutation that makes a
		// definition of an import gives the verifier an object of which it rightly says that nothing is proven.
		if strings.Contains(path, "imports") || strings.Contains(path, "rodynamic") {
			continue
		}
		whole, e := read(t, path), fuzzEdit(t, path)
		bare := dropSections(t, whole)
		once := read(t, func() string {
			p, _ := rewrite(t, path, elf.Edit{SONAME: "libonce.so.1", RunPath: pointer("/opt/once")})
			return p
		}())
		subjects = append(subjects,
			subject{path, whole, regions(t, whole), e},
			subject{path + " without sections", bare, regions(t, bare), e},
			subject{path + " edited once", once, regions(t, once), e})
	}

	rng := rand.New(rand.NewPCG(seed, 0))
	count := map[outcome]int{}
	dir, start, rounds := memoryDir(t), time.Now(), 0
	for ; limit > 0 && time.Since(start) < limit || limit == 0 && rounds < fuzzRounds; rounds++ {
		s := subjects[rng.IntN(len(subjects))]
		data := mutate(rng, s.content, s.regions)
		watchdog := time.AfterFunc(hangLimit, func() {
			panic(fmt.Sprintf("%s: seed %d, execution %d: no end after %v; input: %s", s.name, seed, rounds, hangLimit, save(data)))
		})
		got, err := guarded(dir, data, s.edit)
		watchdog.Stop()
		if err != nil {
			require.Fail(t, "finding", "%s: seed %d, execution %d: %v\ninput: %s", s.name, seed, rounds, err, save(data))
		}
		count[got]++
	}
	fmt.Printf("%d executions in %v, seed %d: %d declined, %d edits refused, %d accepted and verified, %d accepted and too large to verify, 0 findings\n",
		rounds, time.Since(start).Round(time.Millisecond), seed, count[declined], count[editRefused], count[accepted], count[acceptedTooLarge])
	require.Greater(t, count[accepted], rounds/50, "the mutations leave nothing to verify")
	require.Greater(t, count[declined], rounds/50, "the mutations harm nothing")
	require.Less(t, count[acceptedTooLarge], rounds/50+1)
}

// guarded is try with a panic as a finding.
func guarded(dir string, data []byte, e elf.Edit) (got outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return try(dir, data, e)
}

func save(data []byte) string {
	f, err := os.CreateTemp(os.Getenv("TEST_UNDECLARED_OUTPUTS_DIR"), "elf-finding-*.so")
	if err != nil {
		return err.Error()
	}
	_, err = f.Write(data)
	return fmt.Sprint(f.Name(), " ", errors.Join(err, f.Close()))
}

// FuzzRewrite is for `go test -fuzz FuzzRewrite -fuzzminimizetime 1x`: without
// the last flag the engine spends a minute on making each new input smaller.
// Without -fuzz it runs its seeds.
func FuzzRewrite(f *testing.F) {
	for _, path := range fixtures(f) {
		f.Add(read(f, path))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e := elf.Edit{
			Rename: map[string]string{"fx_answer": "fx_answer" + suffix}, SONAME: "libprivate.so.1",
			RunPath: pointer("$ORIGIN/private"), AddNeeded: []string{"libextra.so.1"},
		}
		if file, err := stdelf.NewFile(bytes.NewReader(data)); err == nil {
			syms, _ := file.DynamicSymbols()
			for _, s := range syms {
				if s.Section != stdelf.SHN_UNDEF && strings.HasPrefix(s.Name, "fx_") {
					e.Rename[s.Name] = s.Name + suffix
				}
			}
		}
		_, err := try(memoryDir(t), data, e)
		require.NoError(t, err)
	})
}
