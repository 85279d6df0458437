package inspect

import (
	"encoding/json"
	"fmt"
	"io"
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

// WriteTables writes reports for people. With verbose every export is listed, otherwise they are counted.
func WriteTables(w io.Writer, reports []Report, verbose bool) error {
	var b strings.Builder
	for i, r := range reports {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeSummary(&b, r)
		if verbose {
			writeExports(&b, r)
		} else {
			writeCounts(&b, r)
		}
		writeUndefined(&b, r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newTable(b *strings.Builder, title string) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(b)
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.SetTitle("%s", title)
	return t
}

func writeSummary(b *strings.Builder, r Report) {
	t := newTable(b, r.File)
	t.AppendRows([]table.Row{
		{"form", r.Form},
		{"SONAME", orNone(r.SONAME)},
		{"build-id", orNone(r.BuildID)},
		{"size", fmt.Sprintf("%d bytes", r.Size)},
		{"oldest glibc", r.Glibc.String()},
	})
	if r.RPath != nil {
		t.AppendRow(table.Row{"RPATH", *r.RPath})
	}
	runPath := "none"
	if r.RunPath != nil {
		runPath = *r.RunPath
	}
	t.AppendRow(table.Row{"RUNPATH", runPath})
	t.AppendRow(table.Row{"version nodes", orNone(strings.Join(r.Nodes, ", "))})
	if r.Fingerprint != "" {
		t.AppendRow(table.Row{"layout", r.Fingerprint})
	}
	for _, n := range r.Needed {
		file := n.File
		if file == "" {
			file = "NOT FOUND"
		}
		t.AppendRow(table.Row{"NEEDED", n.Name + " → " + file})
	}
	for _, f := range r.RunTime {
		t.AppendRow(table.Row{"may open", fmt.Sprintf("%s (%s)", f.Name, f.Evidence)})
	}
	if indirect := len(r.Missing) - r.missingDirectly(); indirect > 0 {
		t.AppendRow(table.Row{"not found", strings.Join(r.Missing, ", ")})
	}
	t.Render()
}

func (r Report) missingDirectly() int {
	n := 0
	for _, needed := range r.Needed {
		if needed.File == "" {
			n++
		}
	}
	return n
}

func writeCounts(b *strings.Builder, r Report) {
	if len(r.Counts) == 0 {
		return
	}
	t := newTable(b, "exports")
	t.AppendHeader(table.Row{"kind", "node", "count"})
	for _, c := range r.Counts {
		t.AppendRow(table.Row{c.Kind, orNone(c.Node), c.Count})
	}
	t.Render()
}

func writeExports(b *strings.Builder, r Report) {
	if len(r.Exports) == 0 {
		return
	}
	t := newTable(b, "exports")
	t.AppendHeader(table.Row{"name", "node", "kind"})
	for _, e := range r.Exports {
		node := orNone(e.Node)
		if e.Hidden {
			node += " (not the default)"
		}
		t.AppendRow(table.Row{e.Name, node, e.Kind})
	}
	t.Render()
}

func writeUndefined(b *strings.Builder, r Report) {
	if len(r.Undefined) == 0 {
		return
	}
	t := newTable(b, "undefined MIOpen names")
	t.AppendHeader(table.Row{"name", "wanted node", "binds to"})
	for _, u := range r.Undefined {
		t.AppendRow(table.Row{u.Name, orNone(u.Node), u.describe()})
	}
	t.Render()
}

func (u Undefined) describe() string {
	switch {
	case u.File != "" && u.BoundNode == "":
		return u.File
	case u.File != "":
		return u.File + " @ " + u.BoundNode
	case u.Other != "":
		return fmt.Sprintf("NOTHING: %s has it at node %s", u.Other, orNone(u.OtherNode))
	case u.Bound():
		return "nothing (weak)"
	}
	return "NOTHING"
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
