package wire

import (
	"math"
	"reflect"
	"unsafe"

	flatbuffers "github.com/google/flatbuffers/go"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
)

// slot is a field's place in its vtable, in bytes: 4, 6, and so on.
type slot = flatbuffers.VOffsetT

// table is a value that travels as a table. layout walks its fields in the order of the schema, with slots and
// names that are the schema's. Reading sets the fields, the other walks leave them alone.
type table interface{ layout(f fields) }

// fields is a walk along the fields of a table. A scalar's bits are in the low bytes of the word; which of them are
// more than its size does not matter.
type fields interface {
	// scalar is a field that has a default.
	scalar(at slot, name string, size int, bits *uint64, initial uint64)
	// optional is a scalar without one.
	optional(at slot, name string, size int, bits *uint64, present *bool)
	// structure is a struct in the table, as its bytes in memory.
	structure(at slot, name string, alignment int, bytes []byte, present *bool)
	text(at slot, name string, v *string, required bool)
	int64s(at slot, name string, v *[]int64)
	int32s(at slot, name string, v *[]int32)
	float64s(at slot, name string, v *[]float64)
	texts(at slot, name string, v *[]string)
	// one is a table that is present if v is not nil; reading creates it.
	one(at slot, name string, v table, create func() table)
	// many is a vector of n tables. Reading calls create, unless there are none, and then all call element.
	many(at slot, name string, n int, create func(n int), element func(i int) table)
	// union is a pair of fields: the kind, and after it a table. Kind 0 is none. member is called for other kinds
	// and gives nil for one that does not exist.
	union(at slot, name string, kind *uint8, required bool, member func(kind uint8) table)
	// structUnion is the same with a struct of one scalar; sizes has the size for each kind.
	structUnion(at slot, name string, kind *uint8, sizes []int, bits *uint64)
	// tensor says that the field read last names a tensor.
	tensor(at slot, name string, uid int64)
	// decline says that the field read last has a value that does not exist.
	decline(at slot, name, format string, a ...any)
}

type integer interface {
	~int8 | ~uint8 | ~int32 | ~uint64 | ~int64
}

// number is a scalar with a default. Only reading changes v; number says whether it did.
func number[T integer](f fields, at slot, name string, v *T, initial T) bool {
	bits := uint64(*v)
	before := bits
	f.scalar(at, name, int(unsafe.Sizeof(*v)), &bits, uint64(initial))
	if bits == before {
		return false
	}
	*v = T(bits)
	return true
}

func boolean(f fields, at slot, name string, v *bool) {
	var n uint8
	if *v {
		n = 1
	}
	if number(f, at, name, &n, 0) {
		*v = n != 0
	}
}

func double(f fields, at slot, name string, v *float64) {
	bits := math.Float64bits(*v)
	if *v == 0 {
		bits = 0 // -0.0 is left out, as Google's builder does
	}
	before := bits
	f.scalar(at, name, 8, &bits, 0)
	if bits != before {
		*v = math.Float64frombits(bits)
	}
}

func optionalNumber(f fields, at slot, name string, v **int64) {
	var bits uint64
	present := *v != nil
	if present {
		bits = uint64(**v)
	}
	f.optional(at, name, 8, &bits, &present)
	if present && *v == nil {
		n := int64(bits)
		*v = &n
	}
}

func optionalFloat(f fields, at slot, name string, v **float32) {
	var bits uint64
	present := *v != nil
	if present {
		bits = uint64(math.Float32bits(**v))
	}
	f.optional(at, name, 4, &bits, &present)
	if present && *v == nil {
		n := math.Float32frombits(uint32(bits))
		*v = &n
	}
}

// uid is the name of a tensor.
func uid(f fields, at slot, name string, v *int64) {
	number(f, at, name, v, 0)
	f.tensor(at, name, *v)
}

func optionalUID(f fields, at slot, name string, v **int64) {
	optionalNumber(f, at, name, v)
	if *v != nil {
		f.tensor(at, name, **v)
	}
}

func uids(f fields, at slot, name string, v *[]int64) {
	f.int64s(at, name, v)
	for _, id := range *v {
		f.tensor(at, name, id)
	}
}

func dataType(f fields, at slot, name string, v *graph.DataType) {
	n := v.Wire()
	if !number(f, at, name, &n, 0) {
		return
	}
	t, ok := graph.DataTypeFromWire(n)
	if !ok {
		f.decline(at, name, "there is no data type %d", n)
	}
	*v = t
}

// enumeration is one whose value in Go is its number, from 0 to last.
func enumeration[T ~uint8](f fields, at slot, name string, v *T, last T) {
	if number(f, at, name, v, 0) && *v > last {
		f.decline(at, name, "there is no value %d, the last is %d", int8(*v), uint8(last))
	}
}

func child[T any, P interface {
	*T
	table
}](f fields, at slot, name string, v **T) {
	var current table
	if *v != nil {
		current = P(*v)
	}
	f.one(at, name, current, func() table {
		*v = new(T)
		return P(*v)
	})
}

func children[T any, P interface {
	*T
	table
}](f fields, at slot, name string, v *[]T) {
	f.many(at, name, len(*v), func(n int) { *v = make([]T, 0, min(n, 16)) }, func(i int) table {
		if i == len(*v) { // an element that was not read yet
			var more T
			*v = append(*v, more)
		}
		return P(&(*v)[i])
	})
}

// kinds are the members of a union of tables, at their ordinals. A member's type is its kind.
type kinds[T any] struct {
	create []func() T
	of     map[reflect.Type]uint8
}

func kindsOf[T any](members ...func() T) kinds[T] {
	k := kinds[T]{create: append([]func() T{nil}, members...), of: map[reflect.Type]uint8{}}
	for i, m := range members {
		k.of[reflect.TypeOf(m())] = uint8(i + 1)
	}
	return k
}

func (g *Graph) layout(f fields) {
	f.text(4, "name", &g.Name, false)
	dataType(f, 6, "compute_data_type", &g.Compute)
	dataType(f, 8, "intermediate_data_type", &g.Intermediate)
	dataType(f, 10, "io_data_type", &g.IO)
	children(f, 12, "tensors", &g.Tensors)
	children(f, 14, "nodes", &g.Nodes)
	optionalNumber(f, 16, "preferred_engine_id", &g.PreferredEngine)
	boolean(f, 18, "is_override_shape_enabled", &g.OverrideShapes)
	version(f, 20, "min_required_engine_api_version", &g.RequiredVersion)
	uuid(f, 22, "id", &g.ID)
}

func version(f fields, at slot, name string, v **Version) {
	var b [12]byte
	present := *v != nil
	if present {
		flatbuffers.WriteUint32(b[0:], (*v).Major)
		flatbuffers.WriteUint32(b[4:], (*v).Minor)
		flatbuffers.WriteUint32(b[8:], (*v).Patch)
	}
	f.structure(at, name, 4, b[:], &present)
	if present && *v == nil {
		*v = &Version{flatbuffers.GetUint32(b[0:]), flatbuffers.GetUint32(b[4:]), flatbuffers.GetUint32(b[8:])}
	}
}

func uuid(f fields, at slot, name string, v **[16]byte) {
	var b [16]byte
	present := *v != nil
	if present {
		b = **v
	}
	f.structure(at, name, 1, b[:], &present)
	if present && *v == nil {
		*v = &b
	}
}

func (t *Tensor) layout(f fields) {
	number(f, 4, "uid", &t.UID, 0)
	f.text(6, "name", &t.Name, false)
	dataType(f, 8, "data_type", &t.Type)
	f.int64s(10, "strides", &t.Strides)
	f.int64s(12, "dims", &t.Dims)
	boolean(f, 14, "virtual", &t.Virtual)
	value(f, 16, "value", &t.Value)
	boolean(f, 20, "is_runtime_pass_by_value", &t.RuntimePassByValue)
	optionalUID(f, 22, "ragged_offset_tensor_uid", &t.RaggedOffsetUID)
	number(f, 24, "alignment", &t.Alignment, 16)
	number(f, 26, "ragged_offset_multiplier", &t.RaggedOffsetMultiplier, 1)
}

var valueSizes = []int{1: 4, 2: 4, 3: 4, 4: 1, 5: 4, 6: 8, 7: 8, 8: 1}

func value(f fields, at slot, name string, v *Value) {
	kind, bits := valueBits(*v)
	f.structUnion(at, name, &kind, valueSizes, &bits)
	if kind != 0 && *v == nil {
		*v = valueOf(kind, bits)
	}
}

// valueBits and valueOf are the ordinals of the union TensorValue, both ways.
func valueBits(v Value) (kind uint8, bits uint64) {
	switch v := v.(type) {
	case Float32Value:
		return 1, uint64(math.Float32bits(float32(v)))
	case Float16Value:
		return 2, uint64(math.Float32bits(float32(v)))
	case BFloat16Value:
		return 3, uint64(math.Float32bits(float32(v)))
	case Float8Value:
		return 4, uint64(v)
	case Int32Value:
		return 5, uint64(v)
	case Float64Value:
		return 6, math.Float64bits(float64(v))
	case Int64Value:
		return 7, uint64(v)
	case BoolValue:
		if v {
			bits = 1
		}
		return 8, bits
	}
	return 0, 0
}

func valueOf(kind uint8, bits uint64) Value {
	switch kind {
	case 1:
		return Float32Value(math.Float32frombits(uint32(bits)))
	case 2:
		return Float16Value(math.Float32frombits(uint32(bits)))
	case 3:
		return BFloat16Value(math.Float32frombits(uint32(bits)))
	case 4:
		return Float8Value(bits)
	case 5:
		return Int32Value(bits)
	case 6:
		return Float64Value(math.Float64frombits(bits))
	case 7:
		return Int64Value(bits)
	}
	return BoolValue(uint8(bits) != 0)
}

func (n *Node) layout(f fields) {
	f.text(4, "name", &n.Name, false)
	dataType(f, 6, "compute_data_type", &n.Compute)
	attributes(f, 8, "attributes", &n.Attributes)
}

type attributeTable interface {
	Attributes
	table
}

var (
	attributeKinds = kindsOf[attributeTable](
		func() attributeTable { return new(BatchnormInference) },
		func() attributeTable { return new(Pointwise) },
		func() attributeTable { return new(BatchnormBackward) },
		func() attributeTable { return new(Batchnorm) },
		func() attributeTable { return new(ConvolutionFwd) },
		func() attributeTable { return new(ConvolutionBwd) },
		func() attributeTable { return new(ConvolutionWrw) },
		func() attributeTable { return new(BatchnormInferenceVarianceExt) },
		func() attributeTable { return new(Matmul) },
	)
	// lastAttributes is MoeGroupedMatmulBwd's. Those between are Unread.
	lastAttributes uint8 = 23
)

func attributes(f fields, at slot, name string, v *Attributes) {
	var kind uint8
	if u, ok := (*v).(Unread); ok {
		kind = u.Type
	} else if *v != nil {
		kind = attributeKinds.of[reflect.TypeOf(*v)]
	}
	f.union(at, name, &kind, true, func(kind uint8) table {
		switch {
		case *v != nil:
		case int(kind) < len(attributeKinds.create):
			*v = attributeKinds.create[kind]()
		case kind <= lastAttributes:
			*v = Unread{kind}
		}
		t, _ := (*v).(table)
		return t
	})
}

// layout of attributes that are not read has no fields.
func (Unread) layout(fields) {}

func (w *Window) layout(f fields) {
	f.int64s(10, "pre_padding", &w.PrePadding)
	f.int64s(12, "post_padding", &w.PostPadding)
	f.int64s(14, "stride", &w.Stride)
	f.int64s(16, "dilation", &w.Dilation)
	enumeration(f, 18, "conv_mode", &w.Mode, graph.CrossCorrelation)
	f.text(20, "umd_flops", &w.UMDFlops, false)
	f.text(22, "umd_bytes", &w.UMDBytes, false)
}

func (c *ConvolutionFwd) layout(f fields) {
	uid(f, 4, "x_tensor_uid", &c.X)
	uid(f, 6, "w_tensor_uid", &c.W)
	uid(f, 8, "y_tensor_uid", &c.Y)
	c.Window.layout(f)
}

func (c *ConvolutionBwd) layout(f fields) {
	uid(f, 4, "dy_tensor_uid", &c.DY)
	uid(f, 6, "w_tensor_uid", &c.W)
	uid(f, 8, "dx_tensor_uid", &c.DX)
	c.Window.layout(f)
}

func (c *ConvolutionWrw) layout(f fields) {
	uid(f, 4, "x_tensor_uid", &c.X)
	uid(f, 6, "dy_tensor_uid", &c.DY)
	uid(f, 8, "dw_tensor_uid", &c.DW)
	c.Window.layout(f)
}

// lastPointwise is TANH_FWD (HipdnnPointwiseMode.h).
const lastPointwise graph.PointwiseMode = 47

func (p *Pointwise) layout(f fields) {
	enumeration(f, 4, "operation", &p.Mode, lastPointwise)
	optionalFloat(f, 6, "relu_lower_clip", &p.ReLULowerClip)
	optionalFloat(f, 8, "relu_upper_clip", &p.ReLUUpperClip)
	optionalFloat(f, 10, "relu_lower_clip_slope", &p.ReLULowerClipSlope)
	optionalUID(f, 12, "axis_tensor_uid", &p.Axis)
	uid(f, 14, "in_0_tensor_uid", &p.In0)
	optionalUID(f, 16, "in_1_tensor_uid", &p.In1)
	optionalUID(f, 18, "in_2_tensor_uid", &p.In2)
	uid(f, 20, "out_0_tensor_uid", &p.Out0)
	optionalFloat(f, 22, "swish_beta", &p.SwishBeta)
	optionalFloat(f, 24, "elu_alpha", &p.ELUAlpha)
	optionalFloat(f, 26, "softplus_beta", &p.SoftplusBeta)
}

func (m *Matmul) layout(f fields) {
	uid(f, 4, "a_tensor_uid", &m.A)
	uid(f, 6, "b_tensor_uid", &m.B)
	uid(f, 8, "c_tensor_uid", &m.C)
	f.text(10, "umd_flops", &m.UMDFlops, false)
	f.text(12, "umd_bytes", &m.UMDBytes, false)
}

func (b *Batchnorm) layout(f fields) {
	uid(f, 4, "x_tensor_uid", &b.X)
	uid(f, 6, "scale_tensor_uid", &b.Scale)
	uid(f, 8, "bias_tensor_uid", &b.Bias)
	uid(f, 10, "epsilon_tensor_uid", &b.Epsilon)
	uids(f, 12, "peer_stats_tensor_uid", &b.PeerStats)
	optionalUID(f, 14, "prev_running_mean_tensor_uid", &b.PrevRunningMean)
	optionalUID(f, 16, "prev_running_variance_tensor_uid", &b.PrevRunningVariance)
	optionalUID(f, 18, "momentum_tensor_uid", &b.Momentum)
	uid(f, 20, "y_tensor_uid", &b.Y)
	optionalUID(f, 22, "mean_tensor_uid", &b.Mean)
	optionalUID(f, 24, "inv_variance_tensor_uid", &b.InvVariance)
	optionalUID(f, 26, "next_running_mean_tensor_uid", &b.NextRunningMean)
	optionalUID(f, 28, "next_running_variance_tensor_uid", &b.NextRunningVariance)
}

func (b *BatchnormBackward) layout(f fields) {
	uid(f, 4, "dy_tensor_uid", &b.DY)
	uid(f, 6, "x_tensor_uid", &b.X)
	optionalUID(f, 8, "mean_tensor_uid", &b.Mean)
	optionalUID(f, 10, "inv_variance_tensor_uid", &b.InvVariance)
	uid(f, 12, "scale_tensor_uid", &b.Scale)
	uids(f, 14, "peer_stats_tensor_uid", &b.PeerStats)
	uid(f, 16, "dx_tensor_uid", &b.DX)
	uid(f, 18, "dscale_tensor_uid", &b.DScale)
	uid(f, 20, "dbias_tensor_uid", &b.DBias)
}

func (b *BatchnormInference) layout(f fields) {
	uid(f, 4, "x_tensor_uid", &b.X)
	uid(f, 6, "mean_tensor_uid", &b.Mean)
	uid(f, 8, "inv_variance_tensor_uid", &b.InvVariance)
	uid(f, 10, "scale_tensor_uid", &b.Scale)
	uid(f, 12, "bias_tensor_uid", &b.Bias)
	uid(f, 14, "y_tensor_uid", &b.Y)
}

func (b *BatchnormInferenceVarianceExt) layout(f fields) {
	uid(f, 4, "x_tensor_uid", &b.X)
	uid(f, 6, "mean_tensor_uid", &b.Mean)
	uid(f, 8, "variance_tensor_uid", &b.Variance)
	uid(f, 10, "scale_tensor_uid", &b.Scale)
	uid(f, 12, "bias_tensor_uid", &b.Bias)
	uid(f, 14, "y_tensor_uid", &b.Y)
	uid(f, 16, "epsilon_tensor_uid", &b.Epsilon)
}

func (c *EngineConfig) layout(f fields) {
	number(f, 4, "engine_id", &c.EngineID, 0)
	children(f, 6, "knobs", &c.Knobs)
	f.text(8, "ranking_metric", &c.RankingMetric, false)
}

func (s *KnobSetting) layout(f fields) {
	f.text(4, "knob_id", &s.KnobID, false)
	knobUnion(f, 6, "value", &s.Value)
}

// knobTable is a member of the union KnobValue while it travels: a table of one field.
type knobTable struct {
	kind  uint8
	value KnobValue
}

func knobUnion(f fields, at slot, name string, v *KnobValue) {
	t := knobTable{value: *v}
	switch (*v).(type) {
	case IntValue:
		t.kind = 1
	case FloatValue:
		t.kind = 2
	case StringValue:
		t.kind = 3
	}
	f.union(at, name, &t.kind, false, func(kind uint8) table {
		if kind > 3 {
			return nil
		}
		t.kind = kind
		return &t
	})
	if *v == nil {
		*v = t.value
	}
}

func (t *knobTable) layout(f fields) {
	switch t.kind {
	case 1:
		n, _ := t.value.(IntValue)
		number(f, 4, "value", &n, 0)
		t.value = n
	case 2:
		n, _ := t.value.(FloatValue)
		double(f, 4, "value", (*float64)(&n))
		t.value = n
	case 3:
		s, _ := t.value.(StringValue)
		f.text(4, "value", (*string)(&s), false)
		t.value = s
	}
}

func (d *EngineDetails) layout(f fields) {
	number(f, 4, "engine_id", &d.EngineID, 0)
	children(f, 6, "knobs", &d.Knobs)
	f.int32s(8, "behavior_notes", &d.BehaviorNotes)
	f.text(10, "name", &d.Name, false)
	child(f, 12, "candidate_page", &d.CandidatePage)
}

func (k *Knob) layout(f fields) {
	number(f, 4, "knob_id", &k.ID, 0)
	f.text(6, "knob_id_str", &k.Name, false)
	f.text(8, "description", &k.Description, false)
	knobUnion(f, 10, "value_type", &k.ValueType)
	knobUnion(f, 14, "default_value", &k.DefaultValue)
	constraint(f, 18, "constraints", &k.Constraints)
	boolean(f, 22, "deprecated", &k.Deprecated)
}

type constraintTable interface {
	KnobConstraint
	table
}

var constraintKinds = kindsOf[constraintTable](
	func() constraintTable { return new(IntConstraint) },
	func() constraintTable { return new(FloatConstraint) },
	func() constraintTable { return new(StringConstraint) },
)

func constraint(f fields, at slot, name string, v *KnobConstraint) {
	var kind uint8
	if *v != nil {
		kind = constraintKinds.of[reflect.TypeOf(*v)]
	}
	f.union(at, name, &kind, false, func(kind uint8) table {
		if *v == nil && int(kind) < len(constraintKinds.create) {
			*v = constraintKinds.create[kind]()
		}
		t, _ := (*v).(table)
		return t
	})
}

func (c *IntConstraint) layout(f fields) {
	number(f, 4, "min_value", &c.Min, 0)
	number(f, 6, "max_value", &c.Max, 0)
	number(f, 8, "step", &c.Step, 1)
	f.int64s(10, "valid_values", &c.Valid)
}

func (c *FloatConstraint) layout(f fields) {
	double(f, 4, "min_value", &c.Min)
	double(f, 6, "max_value", &c.Max)
	f.float64s(8, "valid_values", &c.Valid)
}

func (c *StringConstraint) layout(f fields) {
	number(f, 4, "max_length", &c.MaxLength, 0)
	f.texts(6, "valid_values", &c.Valid)
}

func (p *CandidatePage) layout(f fields) {
	f.text(4, "graph_id", &p.GraphID, true)
	f.text(6, "device_id", &p.DeviceID, true)
	f.text(8, "device_arch", &p.DeviceArch, true)
	f.text(10, "problem_features", &p.ProblemFeatures, true)
	f.text(12, "device_features", &p.DeviceFeatures, true)
	number(f, 14, "total_count", &p.TotalCount, 0)
	number(f, 16, "offset", &p.Offset, 0)
	children(f, 18, "candidates", &p.Candidates)
	f.text(20, "engine_name", &p.EngineName, false)
	f.text(22, "engine_descriptor_id", &p.EngineDescriptorID, false)
}

func (c *Candidate) layout(f fields) {
	f.text(4, "id", &c.ID, true)
	children(f, 6, "knob_settings", &c.KnobSettings)
	f.text(8, "kernel_features", &c.KernelFeatures, true)
}
