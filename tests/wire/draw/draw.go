// Package draw draws hipDNN graphs, engine configurations and engine details at random, for tests of the package that
// reads and writes them: any value that a field can have, without a thought for what it would mean. It goes by the
// types of the values, so that a new field is drawn too.
package draw

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/provider/wire"
)

// Graph draws a graph.
func Graph(r *rand.Rand) *wire.Graph { return draw[wire.Graph](r) }

// EngineConfig draws an engine configuration.
func EngineConfig(r *rand.Rand) *wire.EngineConfig { return draw[wire.EngineConfig](r) }

// EngineDetails draws engine details.
func EngineDetails(r *rand.Rand) *wire.EngineDetails { return draw[wire.EngineDetails](r) }

func draw[T any](r *rand.Rand) *T {
	v := new(T)
	fill(r, reflect.ValueOf(v).Elem())
	return v
}

// Source is a source of random numbers for a seed.
func Source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x77697265)) }

// members are what a union can hold besides nothing; those of Attributes, whose last is one of those that are not
// read, are never nothing.
func members(union reflect.Type) []any {
	switch union {
	case reflect.TypeFor[wire.Value]():
		return []any{wire.Float32Value(0), wire.Float16Value(0), wire.BFloat16Value(0), wire.Float8Value(0),
			wire.Int32Value(0), wire.Float64Value(0), wire.Int64Value(0), wire.BoolValue(false)}
	case reflect.TypeFor[wire.Attributes]():
		return []any{&wire.BatchnormInference{}, &wire.Pointwise{}, &wire.BatchnormBackward{}, &wire.Batchnorm{},
			&wire.ConvolutionFwd{}, &wire.ConvolutionBwd{}, &wire.ConvolutionWrw{},
			&wire.BatchnormInferenceVarianceExt{}, &wire.Matmul{}, wire.Unread{}}
	case reflect.TypeFor[wire.KnobValue]():
		return []any{wire.IntValue(0), wire.FloatValue(0), wire.StringValue("")}
	case reflect.TypeFor[wire.KnobConstraint]():
		return []any{&wire.IntConstraint{}, &wire.FloatConstraint{}, &wire.StringConstraint{}}
	}
	panic(fmt.Sprintf("draw: no members of %v", union))
}

func fill(r *rand.Rand, v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[graph.DataType]():
		t, _ := graph.DataTypeFromWire(int8(r.IntN(18)))
		v.SetUint(uint64(t))
		return
	case reflect.TypeFor[graph.ConvolutionMode]():
		v.SetUint(uint64(r.IntN(3)))
		return
	case reflect.TypeFor[graph.PointwiseMode]():
		v.SetUint(uint64(r.IntN(48)))
		return
	case reflect.TypeFor[wire.Unread]():
		v.Set(reflect.ValueOf(wire.Unread{Type: uint8(10 + r.IntN(14))}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Interface:
		all := members(v.Type())
		if v.Type() != reflect.TypeFor[wire.Attributes]() && r.IntN(4) == 0 {
			return
		}
		member := reflect.New(reflect.TypeOf(all[r.IntN(len(all))])).Elem()
		if member.Kind() == reflect.Pointer {
			member.Set(reflect.New(member.Type().Elem()))
			fill(r, member.Elem())
		} else {
			fill(r, member)
		}
		v.Set(member)
	case reflect.Slice:
		if n := r.IntN(5); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.String:
		b := make([]byte, max(0, r.IntN(20)-4))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		v.SetString(string(b))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(integers(r))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(integers(r)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(floats(r))
	default:
		panic(fmt.Sprintf("draw: a value of type %v", v.Type()))
	}
}

// integers draws one, often a number that is a default somewhere.
func integers(r *rand.Rand) int64 {
	switch r.IntN(6) {
	case 0:
		return 0
	case 1:
		return 1
	case 2:
		return 16
	case 3:
		return -1
	case 4:
		return int64(r.IntN(1000))
	}
	return int64(r.Uint64())
}

func floats(r *rand.Rand) float64 {
	switch r.IntN(8) {
	case 0:
		return 0
	case 1:
		return math.Copysign(0, -1)
	case 2:
		return math.NaN()
	case 3:
		return math.Inf(1 - 2*r.IntN(2))
	}
	return r.NormFloat64() * math.Pow(2, float64(r.IntN(300)-150))
}

// Equal reports whether two values are the same; a NaN is equal to itself, and zero to zero of any sign.
func Equal(a, b any) bool { return equal(reflect.ValueOf(a), reflect.ValueOf(b)) }

func equal(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() {
		return false
	}
	if !a.IsValid() {
		return true
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		return equal(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Float32, reflect.Float64:
		return a.Float() == b.Float() || math.IsNaN(a.Float()) && math.IsNaN(b.Float())
	}
	return a.Equal(b)
}

// Fields lists the fields of T's tables and of all tables below them, as Type.Field; a union's members are Type.Field=Member.
func Fields[T any]() map[string]bool {
	out := map[string]bool{}
	list(reflect.TypeFor[T](), out)
	return out
}

func list(t reflect.Type, out map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		list(t.Elem(), out)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name := t.Name() + "." + f.Name
			if out[name] {
				return
			}
			if !f.Anonymous {
				out[name] = true
			}
			list(f.Type, out)
			if f.Type.Kind() == reflect.Interface {
				for _, m := range members(f.Type) {
					out[name+"="+reflect.TypeOf(m).String()] = true
					list(reflect.TypeOf(m), out)
				}
			}
		}
	}
}

// Seen removes from the fields those that v has and that are not zero, nor absent.
func Seen(v any, fields map[string]bool) { seen(reflect.ValueOf(v), fields) }

func seen(v reflect.Value, fields map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			seen(v.Elem(), fields)
		}
	case reflect.Slice:
		for i := range v.Len() {
			seen(v.Index(i), fields)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name
			if !f.IsZero() {
				delete(fields, name)
			}
			if f.Kind() == reflect.Interface && !f.IsNil() {
				delete(fields, name+"="+f.Elem().Type().String())
			}
			seen(f, fields)
		}
	}
}
