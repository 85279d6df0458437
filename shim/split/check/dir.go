package check

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"example.com/miopen_hipdnn_shim/shim/elf/verify"
	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/exports/dynobj"
	"example.com/miopen_hipdnn_shim/shim/exports/opened"
	"example.com/miopen_hipdnn_shim/shim/split/layout"
	"example.com/miopen_hipdnn_shim/shim/split/manifest"
)

// The names of the checks of a folder. Those of the private library's content start with PrivatePrefix and go on with the
// name that package verify gives them; those of the wrapper are listed with Wrapper.
const (
	Files              = "files"    // what belongs to a split is there, and links lead where they should
	ManifestAgrees     = "manifest" // the record says what the files say
	PrivatePrefix      = "private: "
	PrivateEntryPoints = PrivatePrefix + "entry points"
	PrivateLayout      = PrivatePrefix + "layout fingerprint"
	PrivateBytes       = PrivatePrefix + "against stock"
	WrapperReadable    = "wrapper: readable"
	PrivateReadable    = PrivatePrefix + "readable"
)

// dir is a split's folder while it is checked.
type dir struct {
	path      string
	names     layout.Layout
	stockPath string
	stock     *exports.Library
	want      Stock
	record    *manifest.Manifest // nil when it cannot be read
	report    Report
}

// Dir checks the folder of a split against the library that it was made from. Whatever is wrong with the folder is a
// finding, a missing or damaged file too; the error is an *exports.ReadError when the stock library, or the folder as
// such, cannot be read, and otherwise says why the stock library is none.
func Dir(stockPath, path string) (Report, error) {
	stock, err := exports.Read(stockPath)
	if err != nil {
		return nil, err
	}
	api, err := stock.API()
	if err != nil {
		return nil, err
	}
	if api.Form == exports.FormWrapper {
		return nil, fmt.Errorf("%s: is a wrapper; name the library that was split", stockPath)
	}
	names, err := layout.For(stock.SONAME)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stockPath, err)
	}
	if st, err := os.Stat(path); err != nil {
		return nil, &exports.ReadError{Path: path, Err: err}
	} else if !st.IsDir() {
		return nil, &exports.ReadError{Path: path, Err: errors.New("is not a folder")}
	}
	d := &dir{
		path: path, names: names, stockPath: stockPath, stock: stock, want: Stock{API: api, Nodes: stock.Nodes},
	}
	if err := d.run(); err != nil {
		return nil, err
	}
	return d.report, nil
}

func (d *dir) run() error {
	manifestResult := d.readManifest()
	d.report = append(d.report, d.files())
	private := d.open(d.names.Private(), PrivateReadable)
	if private != nil {
		defer private.Close()
		if err := d.private(private); err != nil {
			return err
		}
	}
	wrapper := d.open(d.names.Wrapper(), WrapperReadable)
	if wrapper != nil {
		defer wrapper.Close()
	}
	if private != nil && wrapper != nil {
		checks, err := Wrapper(d.want, d.names, wrapper, private)
		if err != nil {
			d.report = append(d.report, Result{Name: WrapperReadable, Compared: 1, Findings: []string{err.Error()}})
		}
		d.report = append(d.report, checks...)
	}
	if err := d.manifest(&manifestResult, private, wrapper); err != nil {
		return err
	}
	d.report = append(d.report, manifestResult.finish())
	return nil
}

func (d *dir) file(name string) string { return filepath.Join(d.path, filepath.FromSlash(name)) }

// open opens a library of the folder. When it cannot be read, that is a finding of the check of that name.
func (d *dir) open(name, check string) *dynobj.Object {
	o, err := dynobj.Open(d.file(name))
	if err != nil {
		d.report = append(d.report, Result{Name: check, Compared: 1, Findings: []string{err.Error()}})
		return nil
	}
	return o
}

func (d *dir) readManifest() Result {
	r := Result{Name: ManifestAgrees, Compared: 1}
	text, err := os.ReadFile(d.file(layout.Manifest))
	if err != nil {
		r.finding("%v", err)
		return r
	}
	m, err := manifest.Decode(text)
	if err != nil {
		r.finding("%v", err)
		return r
	}
	d.record = &m
	return r
}

// files checks that everything is there and of its kind.
func (d *dir) files() Result {
	r := Result{Name: Files}
	regular := []string{
		d.names.Private(), d.names.Wrapper(), layout.LinkerScript, layout.ShimHeader, layout.RenameHeader, d.names.Symbols(),
		layout.Manifest,
	}
	if d.record != nil && d.record.Undeclared != nil {
		regular = append(regular, layout.ImplHeader)
	}
	for _, name := range regular {
		r.Compared++
		if st, err := os.Lstat(d.file(name)); err != nil {
			r.finding("%v", err)
		} else if !st.Mode().IsRegular() {
			r.finding("%s is not a regular file", name)
		}
	}
	r.Compared++
	switch target, err := os.Readlink(d.file(layout.DevLink)); {
	case err != nil:
		r.finding("%s is not a symbolic link: %v", layout.DevLink, err)
	case target != d.names.Wrapper():
		r.finding("%s leads to %s, not to %s", layout.DevLink, target, d.names.Wrapper())
	}
	r.Compared++
	if text, err := os.ReadFile(d.file(layout.LinkerScript)); err == nil && string(text) != string(d.names.LinkerScriptText()) {
		r.finding("%s is not the linker script of this split", layout.LinkerScript)
	}
	return r.finish()
}

// private checks the private library against the stock library.
func (d *dir) private(o *dynobj.Object) error {
	entries := Result{Name: PrivateEntryPoints, Compared: len(d.want.API.Entries)}
	fingerprint := Result{Name: PrivateLayout, Compared: len(d.want.API.Entries)}
	lib, err := exports.FromObject(o)
	if err != nil {
		d.report = append(d.report, Result{Name: PrivateReadable, Compared: 1, Findings: []string{err.Error()}})
		return nil
	}
	api, err := lib.API()
	switch {
	case err != nil:
		entries.finding("%v", err)
		fingerprint.NotApplicable = "the entry points are not known"
	case api.Form != exports.FormPrivate:
		entries.finding("the library is of form %v", api.Form)
		fallthrough
	default:
		entries.reportDifference(exports.Compare(d.want.API, api))
		if got, want := api.Fingerprint(), d.want.API.Fingerprint(); got != want {
			fingerprint.finding("%s, the stock library's is %s", got, want)
		}
	}
	d.report = append(d.report, entries.finish(), fingerprint.finish())
	return d.bytes()
}

// bytes has package verify compare the private library with the stock library byte by byte.
func (d *dir) bytes() error {
	if d.want.API.Form == exports.FormStock && d.record != nil && d.record.Input.Form == exports.FormPrivate.String() {
		d.report = append(d.report, Result{
			Name:          PrivateBytes,
			NotApplicable: "the private library was renamed when it was compiled: it is another binary than the stock one",
		})
		return nil
	}
	want := verify.Expect{}
	if d.want.API.Form == exports.FormStock {
		want.Rename = d.want.API.Rename()
	}
	if d.stock.SONAME != d.names.Private() {
		want.SONAME = d.names.Private()
	}
	// The search path is the one thing that the split's caller chooses; the record says whether and how.
	if d.record != nil {
		switch recorded := d.record.Private.RunPath; {
		case recorded == nil && d.stock.RunPath != nil:
			want.RunPath = new(string) // removed
		case recorded != nil && (d.stock.RunPath == nil || *d.stock.RunPath != *recorded):
			want.RunPath = recorded
		}
	}
	result, err := verify.Files(d.stockPath, d.file(d.names.Private()), want)
	if err != nil {
		var unreadable *verify.ReadError
		if errors.As(err, &unreadable) && unreadable.File != d.stockPath {
			d.report = append(d.report, Result{Name: PrivateReadable, Compared: 1, Findings: []string{err.Error()}})
			return nil
		}
		return &exports.ReadError{Path: d.stockPath, Err: err}
	}
	for _, c := range result.Checks {
		r := Result{Name: PrivatePrefix + c.Name, Compared: c.Compared, Findings: c.Findings}
		if c.Absent && len(c.Findings) == 0 {
			r.NotApplicable = "neither file has any"
		}
		d.report = append(d.report, r.finish())
	}
	if !result.Clean() && d.report.Holds() { // Clean is the authority; this cannot be reached while both agree
		d.report = append(d.report, Result{Name: PrivateBytes, Compared: 1, Findings: []string{"the verifier is not satisfied"}})
	}
	return nil
}

// manifest compares the record with the files. private and wrapper are nil when they cannot be read.
func (d *dir) manifest(r *Result, private, wrapper *dynobj.Object) error {
	if d.record == nil {
		return nil
	}
	m := d.record
	compare := func(what string, got, want any) {
		r.Compared++
		if !reflect.DeepEqual(got, want) {
			r.finding("%s: the manifest says %+v, the file says %+v", what, got, want)
		}
	}
	if m.Input.Form == d.want.API.Form.String() {
		digest, err := manifest.Digest(d.stockPath)
		if err != nil {
			return err
		}
		compare("input", m.Input.Identity, manifest.Identity{
			SONAME: d.stock.SONAME, BuildID: d.stock.BuildID, Size: d.stock.Size, Digest: digest,
		})
		compare("layout fingerprint", m.LayoutFingerprint, d.want.API.Fingerprint())
		if !slices.Equal(m.EntryPoints, manifest.EntryPoints(d.want.API)) {
			r.finding("the entry points are not those of the stock library")
		}
	} else {
		r.finding("the split was made from a %s library; %s is a %v one", m.Input.Form, d.stockPath, d.want.API.Form)
	}
	compare("version nodes", m.Nodes, manifest.Nodes(d.want.Nodes))
	for _, l := range []struct {
		o      *dynobj.Object
		name   string
		record manifest.Library
	}{{private, d.names.Private(), m.Private}, {wrapper, d.names.Wrapper(), m.Wrapper}} {
		if l.o == nil {
			continue
		}
		lib, err := exports.FromObject(l.o)
		if err != nil {
			continue // reported where the library was checked
		}
		got, err := manifest.Describe(l.name, lib)
		if err != nil {
			return err
		}
		d.describe(r, l.name, l.record, got)
	}
	// The input is searched, as the split did, and not the private library, whose replaced string table is still there and
	// would be taken for constants.
	if m.Input.Form == d.want.API.Form.String() {
		scan, err := opened.ScanFile(d.stockPath)
		if err != nil {
			return err
		}
		compare("files opened at run time", m.RunTime, manifest.NewRunTime(scan))
	}
	d.digests(r)
	return nil
}

// describe compares the record of one library field by field, so that a finding says which one differs.
func (d *dir) describe(r *Result, name string, record, file manifest.Library) {
	a, b := reflect.ValueOf(record), reflect.ValueOf(file)
	for i := range a.NumField() {
		r.Compared++
		if field := a.Type().Field(i).Name; !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			r.finding("%s: %s: the manifest says %v, the file says %v", name, field,
				reflect.Indirect(a.Field(i)), reflect.Indirect(b.Field(i)))
		}
	}
}

// digests compares the digests of the text files.
func (d *dir) digests(r *Result) {
	for _, name := range []string{layout.LinkerScript, layout.ShimHeader, layout.RenameHeader, d.names.Symbols()} {
		if _, ok := d.record.Files[name]; !ok {
			r.finding("%s is not recorded", name)
		}
	}
	for name, want := range d.record.Files {
		r.Compared++
		if !layout.Owned(name) {
			r.finding("%s is no file of a split", name)
			continue
		}
		if got, err := manifest.Digest(d.file(name)); err != nil {
			r.finding("%v", err)
		} else if got != want {
			r.finding("%s: the manifest says %s, the file has %s", name, want, got)
		}
	}
	slices.Sort(r.Findings) // Files is a map
}
