package plugin

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// WriteJSON writes reports as a JSON array, complete.
func WriteJSON(w io.Writer, reports []Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(reports)
}

// WriteTables writes reports for people.
func WriteTables(w io.Writer, reports []Report) error {
	var b strings.Builder
	for i, r := range reports {
		if i > 0 {
			b.WriteByte('\n')
		}
		r.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newTable(b *strings.Builder, title string, header ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(b)
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Format.Footer = text.FormatDefault
	t.SetTitle("%s", title)
	t.AppendHeader(header)
	return t
}

func (r Report) write(b *strings.Builder) {
	t := newTable(b, r.File, "file", "role", "NEEDED MIOpen", "RUNPATH", "miopenFoo", "miopenFoo_impl")
	for _, o := range r.Objects {
		search := "none"
		switch {
		case o.RunPath != nil:
			search = *o.RunPath
		case o.RPath != nil:
			search = *o.RPath + " (RPATH)"
		}
		t.AppendRow(table.Row{o.File, o.Role, strings.Join(o.Needed, ", "), search, o.Public, o.Private})
	}
	t.Render()

	t = newTable(b, "undefined MIOpen names of the plugin", "name", "binds to")
	for _, u := range r.Undefined {
		to := "NOTHING"
		if u.File != "" {
			to = filepath.Base(u.File)
		}
		t.AppendRow(table.Row{u.Name, to})
	}
	t.AppendFooter(table.Row{fmt.Sprintf("%d names", len(r.Undefined)), ""})
	t.Render()

	writeBindings(b, "bindings by the loader, RTLD_NOW", r.Bindings)
	if len(r.BehindWrapper) > 0 {
		writeBindings(b, "the same in a program that is linked to the wrapper", r.BehindWrapper)
	}

	t = newTable(b, "verdict", "check", "result")
	t.AppendRow(table.Row{"linked to", string(r.Link)})
	loads := "yes"
	if len(r.Failures) > 0 {
		loads = "NO"
	}
	t.AppendRow(table.Row{"loads with RTLD_NOW", loads})
	hidden := "nothing takes its place"
	if len(r.Hidden) > 0 {
		hidden = "STALE COPY: " + strings.Join(r.Hidden, ", ")
	}
	t.AppendRow(table.Row{"MIOpen library hidden", hidden})
	for _, f := range r.Findings {
		t.AppendRow(table.Row{"DOES NOT HOLD", f})
	}
	if r.Holds() {
		note := "calls cannot enter a wrapper"
		if r.Link == LinkLegacy {
			note = "there is no wrapper and no private library: calls reach the one MIOpen that there is"
		}
		t.AppendRow(table.Row{"holds", note})
	}
	t.Render()
}

func writeBindings(b *strings.Builder, title string, counts []Count) {
	t := newTable(b, title, "from", "to", "miopen* symbols", "first")
	for _, c := range counts {
		first := c.Symbols
		if len(first) > 3 {
			first = first[:3]
		}
		t.AppendRow(table.Row{filepath.Base(c.From), filepath.Base(c.To), len(c.Symbols), strings.Join(first, " ")})
	}
	t.Render()
}
