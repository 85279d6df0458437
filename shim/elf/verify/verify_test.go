package verify

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFileEqualsItself(t *testing.T) {
	for _, v := range variants {
		t.Run(v.Name, func(t *testing.T) {
			b := compile(t, v.Flags...)
			r := verdict(t, b, b, Expect{})
			require.True(t, r.Clean(), "%+v", r)
			for _, c := range r.Checks {
				require.False(t, c.Absent, c.Name)
				require.Positive(t, c.Compared, c.Name)
			}
		})
	}
}

func TestAnEditIsAccepted(t *testing.T) {
	for _, v := range variants {
		for _, move := range []bool{false, true} {
			name := v.Name
			if move {
				name += ", .dynamic moved"
			}
			t.Run(name, func(t *testing.T) {
				b := compile(t, v.Flags...)
				e := edit(t, b, everything(), editOptions{moveDynamic: move})
				r := verdict(t, b, e, everything())
				require.True(t, r.Clean(), "%+v", r)
			})
		}
	}
}

// TestForgottenTable puts single tables of an edited file back to what they were: the mistakes of a rewriter that leaves
// one out.
func TestForgottenTable(t *testing.T) {
	stock := compile(t, "-Wl,--hash-style=both", "-g")
	want := everything()
	for _, moved := range []bool{false, true} {
		edited := edit(t, stock, want, editOptions{moveDynamic: moved})
		im := open(t, stock)
		gnu, ok := im.dynValue(elf.DT_GNU_HASH)
		require.True(t, ok)
		head, err := im.readGNUHead(gnu)
		require.NoError(t, err)
		table, err := im.loadGNU(gnu, head)
		require.NoError(t, err)
		gnuSpan, err := im.locate(gnu, table.size(), "")
		require.NoError(t, err)
		sysv, ok := im.dynValue(elf.DT_HASH)
		require.True(t, ok)
		old, err := im.loadSysV(sysv)
		require.NoError(t, err)
		sysvSpan, err := im.locate(sysv, old.size(), "")
		require.NoError(t, err)
		relocs, err := im.relocTables()
		require.NoError(t, err)
		require.Len(t, relocs, 2)
		p := patch{t: t, im: im}

		for _, c := range []struct {
			name string
			at   span
		}{
			{"symbols", im.symtab}, {"symbol versions", im.versym}, {"DT_GNU_HASH", gnuSpan}, {"DT_HASH", sysvSpan},
			{"DT_RELA", relocs[0].span}, {"DT_JMPREL", relocs[1].span},
			{"name of the base version", p.base().nameSpan}, {"hash of the base version", p.base().hashSpan},
			{"file of a version need", p.need("libm.so.6").fileSpan},
			{"sizes of the last PT_LOAD", span{p.lastLoad() + 32, 16}},
			{"e_shoff", shoffField},
		} {
			t.Run(c.name, func(t *testing.T) {
				b := slices.Clone(edited)
				copy(b[c.at.off:c.at.end()], stock[c.at.off:c.at.end()])
				require.NotEqual(t, edited, b, "the edit did not touch it")
				r, err := verifyBytes(stock, b, want)
				require.False(t, err == nil && r.Clean())
			})
		}
	}
}

// TestAlignment moves what follows the last PT_LOAD by a distance that keeps every byte, but no alignment.
func TestAlignment(t *testing.T) {
	stock := compile(t, "-Wl,--hash-style=gnu")
	r := verdict(t, stock, edit(t, stock, everything(), editOptions{slack: 8}), everything())
	require.True(t, r.Clean(), "%+v", r)
	r = verdict(t, stock, edit(t, stock, everything(), editOptions{slack: 4}), everything())
	require.Equal(t, []string{CheckSections}, complaints(r), "%+v", r)
	r = verdict(t, stock, edit(t, stock, everything(), editOptions{slack: 1 << 17}), everything())
	require.Equal(t, []string{CheckBytes}, complaints(r), "%+v", r)
}

// TestAppended puts bytes where no part of either file is.
func TestAppended(t *testing.T) {
	stock := compile(t, "-Wl,--hash-style=gnu")
	edited := edit(t, stock, everything(), editOptions{})
	for _, tail := range []string{"x", strings.Repeat("\x00", 1<<17)} {
		r := verdict(t, stock, append(slices.Clone(edited), tail...), everything())
		require.Equal(t, []string{CheckBytes}, complaints(r), "%+v", r)
	}
}

// TestWrongRequest edits rightly, and asks for something else.
func TestWrongRequest(t *testing.T) {
	stock := compile(t, "-Wl,--hash-style=both")
	edited := edit(t, stock, everything(), editOptions{})
	other := "/other"
	for _, c := range []struct {
		name   string
		change func(*Expect)
		checks []string
	}{
		{"a rename that did not happen", func(w *Expect) { w.Rename["filler_5"] = "filler_5_impl" }, []string{CheckSymbols, CheckHash}},
		{"a rename of what stock does not define", func(w *Expect) { w.Rename["getenv"] = "getenv_impl" }, []string{CheckSymbols}},
		{"a rename to a name that is taken", func(w *Expect) { w.Rename["filler_5"] = "filler_6" }, []string{CheckSymbols, CheckHash}},
		{"a rename that was not asked for", func(w *Expect) { delete(w.Rename, "filler_3") }, []string{CheckSymbols, CheckHash, CheckDynamic}},
		{"another SONAME", func(w *Expect) { w.SONAME = "libother.so" }, []string{CheckVersions, CheckDynamic, CheckIdentity}},
		{"another RUNPATH", func(w *Expect) { w.RunPath = &other }, []string{CheckDynamic, CheckIdentity}},
		{"the old RUNPATH", func(w *Expect) { w.RunPath = nil }, []string{CheckDynamic, CheckIdentity}},
		{"another NEEDED", func(w *Expect) { w.Needed["libm.so.6"] = "libm_2.so" }, []string{CheckVersions, CheckDynamic, CheckIdentity}},
		{"a NEEDED that stock does not have", func(w *Expect) { w.Needed["libq.so"] = "libr.so" }, []string{CheckIdentity}},
		{"one more NEEDED", func(w *Expect) { w.AddNeeded = append(w.AddNeeded, "libmore.so") }, []string{CheckDynamic, CheckIdentity}},
		{"one NEEDED fewer", func(w *Expect) { w.AddNeeded = nil }, []string{CheckDynamic, CheckIdentity}},
		{"the NEEDED twice", func(w *Expect) { w.AddNeeded = append(w.AddNeeded, w.AddNeeded[0], "libc.so.6") }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := everything()
			c.change(&want)
			r := verdict(t, stock, edited, want)
			require.ElementsMatch(t, c.checks, complaints(r), "%+v", r)
		})
	}
}

func TestClean(t *testing.T) {
	all := func() Report {
		var r Report
		for _, k := range checkOrder {
			r.Checks = append(r.Checks, Check{Name: k.name, Compared: 1})
		}
		return r
	}
	require.True(t, all().Clean())
	require.False(t, Report{}.Clean(), "nothing was checked")
	for i, k := range checkOrder {
		r := all()
		r.Checks[i].Compared = 0
		require.False(t, r.Clean(), "%s compared nothing", k.name)
		r.Checks[i].Absent = true
		require.Equal(t, k.optional, r.Clean(), "%s may not be absent", k.name)
		r = all()
		r.Checks[i].finding("something")
		require.False(t, r.Clean(), "%s found something", k.name)
		r = all()
		r.Checks = slices.Delete(r.Checks, i, i+1)
		require.False(t, r.Clean(), "%s did not run", k.name)
	}
}

func TestFindingsAreCapped(t *testing.T) {
	stock := compile(t, "-Wl,--hash-style=gnu")
	im := open(t, stock)
	b := slices.Clone(stock)
	p := patch{t: t, im: im, b: b}
	text := p.content(".text")
	for off := text.off; off < text.end(); off += 2 {
		b[off] ^= 1
	}
	r := verdict(t, stock, b, Expect{})
	k := r.Checks[slices.IndexFunc(r.Checks, func(k Check) bool { return k.Name == CheckBytes })]
	require.Equal(t, int(text.size+1)/2, k.Total)
	require.Len(t, k.Findings, maxFindings+1)
	require.Equal(t, fmt.Sprintf("and %d more, %d in all", k.Total-maxFindings, k.Total), k.Findings[maxFindings])
}
