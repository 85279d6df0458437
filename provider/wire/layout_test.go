package wire

import (
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// describer notes what a walk comes by: "slot kind default" by field.
type describer struct {
	fields map[string]string
	named  map[string]bool // fields that name tensors
}

func describe(v table) describer {
	d := describer{map[string]string{}, map[string]bool{}}
	v.layout(&d)
	return d
}

func (d *describer) note(at slot, name, kind string) {
	if d.fields[name] != "" {
		kind += " and " + d.fields[name]
	}
	d.fields[name] = fmt.Sprint(at, " ", kind)
}

func (d *describer) scalar(at slot, name string, size int, _ *uint64, initial uint64) {
	d.note(at, name, fmt.Sprint("scalar of ", size, ", default ", initial))
}
func (d *describer) optional(at slot, name string, size int, _ *uint64, present *bool) {
	d.note(at, name, fmt.Sprint("scalar of ", size, ", optional"))
	*present = true
}
func (d *describer) structure(at slot, name string, alignment int, bytes []byte, _ *bool) {
	d.note(at, name, fmt.Sprint("struct of ", len(bytes), " at ", alignment))
}
func (d *describer) text(at slot, name string, _ *string, required bool) {
	d.note(at, name, fmt.Sprint("string, required ", required))
}
func (d *describer) int64s(at slot, name string, v *[]int64) {
	d.note(at, name, "[long]")
	*v = []int64{1}
}
func (d *describer) int32s(at slot, name string, _ *[]int32)     { d.note(at, name, "[int]") }
func (d *describer) float64s(at slot, name string, _ *[]float64) { d.note(at, name, "[double]") }
func (d *describer) texts(at slot, name string, _ *[]string)     { d.note(at, name, "[string]") }
func (d *describer) one(at slot, name string, _ table, create func() table) {
	d.note(at, name, schemaName(create()))
}
func (d *describer) many(at slot, name string, _ int, create func(int), element func(int) table) {
	create(1)
	d.note(at, name, "["+schemaName(element(0))+"]")
}
func (d *describer) union(at slot, name string, _ *uint8, _ bool, _ func(uint8) table) {
	d.note(at, name, "union")
}
func (d *describer) structUnion(at slot, name string, _ *uint8, _ []int, _ *uint64) {
	d.note(at, name, "union")
}
func (d *describer) tensor(_ slot, name string, _ int64)  { d.named[name] = true }
func (d *describer) decline(slot, string, string, ...any) {}

// schemaName is the schema's name of a type.
func schemaName(v any) string {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch name := t.Name(); name {
	case "Tensor":
		return "TensorAttributes"
	case "BatchnormInferenceVarianceExt":
		return "BatchnormInferenceAttributesVarianceExt"
	case "ConvolutionFwd", "ConvolutionBwd", "ConvolutionWrw", "Pointwise", "Matmul", "Batchnorm", "BatchnormBackward",
		"BatchnormInference":
		return name + "Attributes"
	case "Candidate", "CandidatePage":
		return "Engine" + name
	default:
		return name
	}
}

type schemaRow struct {
	table, field, kind, initial string
	slot                        int
}

// schema is the table of hipDNN's schemas, which was not made from the code here.
func schema(t *testing.T) (rows []schemaRow) {
	t.Helper()
	text, err := os.ReadFile("testdata/schema.tsv")
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		f := strings.Split(line, "\t")
		require.Len(t, f, 6, line)
		require.NotEmpty(t, f[5], "every row has a source")
		n, err := strconv.Atoi(f[2])
		require.NoError(t, err)
		rows = append(rows, schemaRow{f[0], f[1], f[3], f[4], n})
	}
	return rows
}

func (r schemaRow) describe() string {
	size := map[string]int{"long": 8, "ulong": 8, "double": 8, "float": 4, "int": 4, "bool": 1, "DataType": 1, "ConvMode": 1,
		"PointwiseMode": 1}[r.kind]
	kind := r.kind
	switch {
	case size > 0 && r.initial == "null":
		kind = fmt.Sprint("scalar of ", size, ", optional")
	case size > 0:
		initial := map[string]string{"": "0", "false": "0"}[r.initial]
		if initial == "" {
			initial = r.initial
		}
		kind = fmt.Sprint("scalar of ", size, ", default ", initial)
	case kind == "string":
		kind = fmt.Sprint("string, required ", r.initial == "required")
	case kind == "EngineApiVersion":
		kind = "struct of 12 at 4"
	case kind == "Uuid":
		kind = "struct of 16 at 1"
	case strings.HasPrefix(kind, "union "):
		kind = "union"
	}
	return fmt.Sprint(r.slot, " ", kind)
}

// Every field has the slot, width and default of the schemas, and no field is missing or too many.
func TestSlots(t *testing.T) {
	want := map[string]map[string]string{}
	rows := schema(t)
	for _, r := range rows {
		if r.kind == "member" {
			continue
		}
		if want[r.table] == nil {
			want[r.table] = map[string]string{}
		}
		want[r.table][r.field] = r.describe()
	}
	tables := []table{&Graph{}, &Tensor{}, &Node{}, &EngineConfig{}, &KnobSetting{}, &EngineDetails{}, &Knob{}, &CandidatePage{},
		&Candidate{}, &IntConstraint{}, &FloatConstraint{}, &StringConstraint{}}
	for _, create := range attributeKinds.create[1:] {
		tables = append(tables, create())
	}
	for _, v := range tables {
		name := schemaName(v)
		d := describe(v)
		require.Equal(t, want[name], d.fields, name)
		for field, kind := range d.fields {
			isName := strings.HasSuffix(field, "_tensor_uid")
			require.Equal(t, isName, d.named[field], "%s.%s %s", name, field, kind)
		}
		delete(want, name)
	}
	for kind, name := range map[uint8]string{1: "IntValue", 2: "FloatValue", 3: "StringValue"} {
		require.Equal(t, want[name], describe(&knobTable{kind: kind}).fields, name)
		delete(want, name)
	}
	require.Empty(t, want, "tables of the schemas that are not read")
}

// Every member of a union has the ordinal of the schemas.
func TestOrdinals(t *testing.T) {
	want := map[string]map[int]string{}
	for _, r := range schema(t) {
		if r.kind == "member" {
			if want[r.table] == nil {
				want[r.table] = map[int]string{}
			}
			want[r.table][r.slot] = r.field
		}
	}
	require.Len(t, want, 4)

	got := map[int]string{}
	for kind := range valueSizes[1:] {
		v := valueOf(uint8(kind+1), 1)
		got[kind+1] = schemaName(v)
		back, _ := valueBits(v)
		require.EqualValues(t, kind+1, back)
		size := map[reflect.Kind]int{reflect.Bool: 1}[reflect.TypeOf(v).Kind()]
		if size == 0 {
			size = int(reflect.TypeOf(v).Size())
		}
		require.Equal(t, size, valueSizes[kind+1], schemaName(v))
	}
	require.Equal(t, want["TensorValue"], got)

	got = map[int]string{}
	for kind, create := range attributeKinds.create {
		if kind > 0 {
			got[kind] = schemaName(create())
		}
	}
	for kind := len(got) + 1; kind <= len(want["NodeAttributes"]); kind++ {
		require.LessOrEqual(t, kind, int(lastAttributes))
		got[kind] = want["NodeAttributes"][kind]
	}
	require.Equal(t, want["NodeAttributes"], got)
	require.Len(t, want["NodeAttributes"], int(lastAttributes))

	got = map[int]string{}
	for kind, create := range constraintKinds.create {
		if kind > 0 {
			got[kind] = schemaName(create())
		}
	}
	require.Equal(t, want["KnobConstraint"], got)

	got = map[int]string{}
	for _, v := range []KnobValue{IntValue(1), FloatValue(1), StringValue("x")} {
		kinds := unionKind{}
		knobUnion(&kinds, 4, "value", &v)
		got[int(kinds.kind)] = schemaName(v)
	}
	require.Equal(t, want["KnobValue"], got)
}

// unionKind notes the kind of a union.
type unionKind struct {
	describer
	kind uint8
}

func (u *unionKind) union(_ slot, _ string, kind *uint8, _ bool, _ func(uint8) table) { u.kind = *kind }

// A change of a slot, of a default or of a width is seen.
func TestSlotsControl(t *testing.T) {
	row := schemaRow{table: "T", field: "alignment", kind: "long", initial: "16", slot: 24}
	right := func(f fields) { n := int64(0); number(f, 24, "alignment", &n, 16) }
	require.Equal(t, row.describe(), describeFunc(right)["alignment"])
	for name, wrong := range map[string]func(f fields){
		"slot":    func(f fields) { n := int64(0); number(f, 22, "alignment", &n, 16) },
		"default": func(f fields) { n := int64(0); number(f, 24, "alignment", &n, 0) },
		"width":   func(f fields) { n := int32(0); number(f, 24, "alignment", &n, 16) },
		"twice":   func(f fields) { right(f); right(f) },
	} {
		require.NotEqual(t, row.describe(), describeFunc(wrong)["alignment"], name)
	}
}

type layoutFunc func(f fields)

func (l layoutFunc) layout(f fields) { l(f) }

func describeFunc(l layoutFunc) map[string]string { return describe(l).fields }
