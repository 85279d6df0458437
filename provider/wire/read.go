package wire

import (
	"fmt"
	"math"

	flatbuffers "github.com/google/flatbuffers/go"
)

// What is read altogether, in bytes, is at most workFactor times the buffer and workFloor. Tables of one type share
// vtables and little else; only hostile bytes come near.
const (
	workFactor = 8
	workFloor  = 1024
)

// reader walks a table in a buffer. It stops at the first thing that is wrong; from then on it does nothing.
type reader struct {
	b    []byte
	work int // bytes that may still be read
	path []step
	err  *Error

	t    flatbuffers.Table
	size int // of the table, with the distance to its vtable
}

func read[T any, P interface {
	*T
	table
}](b []byte) (*T, error) {
	r := reader{b: b, work: workFactor*len(b) + workFloor}
	switch {
	case len(b) > math.MaxInt32:
		r.fail(0, "%d bytes are more than a FlatBuffer can have", len(b))
	case len(b) < 8:
		r.fail(0, "%d bytes are less than a FlatBuffer has", len(b))
	}
	v := new(T)
	if at, ok := r.follow(0); ok {
		r.enter(at, P(v))
	}
	if r.err != nil {
		return nil, r.err
	}
	return v, nil
}

// fail keeps the first failure, at a byte of the buffer.
func (r *reader) fail(at int, format string, a ...any) {
	if r.err != nil {
		return
	}
	r.err = &Error{Path: join(r.path), Offset: at, Text: fmt.Sprintf(format, a...)}
}

// unknown is fail for a number that stands for nothing.
func (r *reader) unknown(at int, format string, a ...any) {
	if r.err != nil {
		return
	}
	r.fail(at, format, a...)
	r.err.Unknown = true
}

func (r *reader) push(name string) { r.path = append(r.path, step{name: name}) }
func (r *reader) pop()             { r.path = r.path[:len(r.path)-1] }

// take asks for n bytes from at, at a multiple of the alignment.
func (r *reader) take(at, n, alignment int) bool {
	switch {
	case r.err != nil:
	case at < 0 || n < 0 || at > len(r.b) || n > len(r.b)-at:
		r.fail(at, "%d bytes are outside the buffer of %d", n, len(r.b))
	case at%alignment != 0:
		r.fail(at, "not at a multiple of %d", alignment)
	case n > r.work:
		r.fail(at, "the buffer's parts are shared too often")
	default:
		r.work -= n
		return true
	}
	return false
}

// follow is where the offset at a byte leads.
func (r *reader) follow(at int) (int, bool) {
	if !r.take(at, flatbuffers.SizeUOffsetT, flatbuffers.SizeUOffsetT) {
		return 0, false
	}
	distance := flatbuffers.GetUOffsetT(r.b[at:])
	if distance == 0 || int64(distance) >= int64(len(r.b)-at) {
		r.fail(at, "an offset of %d leads outside the buffer of %d bytes, or nowhere", distance, len(r.b))
		return 0, false
	}
	return at + int(distance), true
}

// enter walks the table at a byte, and comes back to the one it came from.
func (r *reader) enter(at int, v table) {
	if !r.take(at, flatbuffers.SizeSOffsetT, flatbuffers.SizeSOffsetT) {
		return
	}
	vtable := int64(at) - int64(flatbuffers.GetSOffsetT(r.b[at:]))
	if vtable < 0 || vtable > int64(len(r.b)) {
		r.fail(at, "the vtable at %d is outside the buffer of %d bytes", vtable, len(r.b))
		return
	}
	const header = flatbuffers.VtableMetadataFields * flatbuffers.SizeVOffsetT
	if !r.take(int(vtable), header, flatbuffers.SizeVOffsetT) {
		return
	}
	length := int(flatbuffers.GetVOffsetT(r.b[vtable:]))
	size := int(flatbuffers.GetVOffsetT(r.b[vtable+flatbuffers.SizeVOffsetT:]))
	switch {
	case length < header || length%flatbuffers.SizeVOffsetT != 0:
		r.fail(int(vtable), "a vtable of %d bytes", length)
	case size < flatbuffers.SizeSOffsetT:
		r.fail(int(vtable), "a table of %d bytes", size)
	}
	if !r.take(int(vtable)+header, length-header, 1) || !r.take(at+flatbuffers.SizeSOffsetT, size-flatbuffers.SizeSOffsetT, 1) {
		return
	}
	outer, outerSize := r.t, r.size
	r.t, r.size = flatbuffers.Table{Bytes: r.b, Pos: flatbuffers.UOffsetT(at)}, size
	v.layout(r)
	r.t, r.size = outer, outerSize
}

// field is where a field of n bytes is, and whether it is there at all.
func (r *reader) field(at slot, n, alignment int) (int, bool) {
	if r.err != nil {
		return 0, false
	}
	offset := int(r.t.Offset(at))
	if offset == 0 {
		return 0, false
	}
	place := int(r.t.Pos) + offset
	switch {
	case offset < flatbuffers.SizeSOffsetT || offset+n > r.size:
		r.fail(place, "%d bytes at byte %d of a table of %d bytes", n, offset, r.size)
	case place%alignment != 0:
		r.fail(place, "not at a multiple of %d", alignment)
	}
	return place, r.err == nil
}

// offset is where the offset in a field leads.
func (r *reader) offset(at slot) (int, bool) {
	place, ok := r.field(at, flatbuffers.SizeUOffsetT, flatbuffers.SizeUOffsetT)
	if !ok {
		return 0, false
	}
	return r.follow(place)
}

// elements is where the elements of the vector at a byte begin, and how many they are. extra are the bytes after
// the last one.
func (r *reader) elements(at, size, extra int) (start, n int, ok bool) {
	if !r.take(at, flatbuffers.SizeUOffsetT, flatbuffers.SizeUOffsetT) {
		return 0, 0, false
	}
	start = at + flatbuffers.SizeUOffsetT
	count := int64(flatbuffers.GetUOffsetT(r.b[at:]))
	if count*int64(size)+int64(extra) > int64(len(r.b)-start) {
		r.fail(at, "%d elements of %d bytes are outside the buffer of %d", count, size, len(r.b))
		return 0, 0, false
	}
	n = int(count)
	if n == 0 {
		size = 1 // Google's builder does not align an empty vector's elements
	}
	return start, n, r.take(start, n*size+extra, size)
}

// bits reads a scalar that was checked.
func (r *reader) bits(place, size int) uint64 {
	at := flatbuffers.UOffsetT(place)
	switch size {
	case 1:
		return uint64(r.t.GetUint8(at))
	case 4:
		return uint64(r.t.GetUint32(at))
	}
	return r.t.GetUint64(at)
}

func (r *reader) scalar(at slot, name string, size int, bits *uint64, initial uint64) {
	r.push(name)
	if place, ok := r.field(at, size, size); ok {
		*bits = r.bits(place, size)
	} else {
		*bits = initial
	}
	r.pop()
}

func (r *reader) optional(at slot, name string, size int, bits *uint64, present *bool) {
	r.push(name)
	place, ok := r.field(at, size, size)
	if *present = ok; ok {
		*bits = r.bits(place, size)
	}
	r.pop()
}

func (r *reader) structure(at slot, name string, alignment int, bytes []byte, present *bool) {
	r.push(name)
	place, ok := r.field(at, len(bytes), alignment)
	if *present = ok; ok {
		copy(bytes, r.b[place:])
	}
	r.pop()
}

func (r *reader) text(at slot, name string, v *string, required bool) {
	r.push(name)
	if place, ok := r.offset(at); ok {
		*v = r.string(place)
	} else if required {
		r.fail(int(r.t.Pos), "missing")
	}
	r.pop()
}

func (r *reader) string(at int) string {
	start, n, ok := r.elements(at, 1, 1)
	if !ok {
		return ""
	}
	if r.b[start+n] != 0 {
		r.fail(start+n, "a string of %d bytes is not followed by a zero", n)
		return ""
	}
	return string(r.b[start : start+n])
}

// numbers reads a vector of scalars; nil if it is not there, or empty.
func numbers[T any](r *reader, at slot, name string, size int, get func([]byte) T) []T {
	r.push(name)
	defer r.pop()
	place, ok := r.offset(at)
	if !ok {
		return nil
	}
	start, n, ok := r.elements(place, size, 0)
	if !ok || n == 0 {
		return nil
	}
	out := make([]T, n)
	for i := range out {
		out[i] = get(r.b[start+i*size:])
	}
	return out
}

func (r *reader) int64s(at slot, name string, v *[]int64) {
	*v = numbers(r, at, name, flatbuffers.SizeInt64, flatbuffers.GetInt64)
}

func (r *reader) int32s(at slot, name string, v *[]int32) {
	*v = numbers(r, at, name, flatbuffers.SizeInt32, flatbuffers.GetInt32)
}

func (r *reader) float64s(at slot, name string, v *[]float64) {
	*v = numbers(r, at, name, flatbuffers.SizeFloat64, flatbuffers.GetFloat64)
}

// each walks a vector of offsets. begin gets their number, if there are any; element where one leads.
func (r *reader) each(at slot, name string, begin func(n int), element func(i, place int)) {
	r.push(name)
	defer r.pop()
	place, ok := r.offset(at)
	if !ok {
		return
	}
	start, n, ok := r.elements(place, flatbuffers.SizeUOffsetT, 0)
	if !ok || n == 0 {
		return
	}
	begin(n)
	for i := 0; i < n && r.err == nil; i++ {
		r.path = append(r.path, step{index: i})
		if place, ok := r.follow(start + i*flatbuffers.SizeUOffsetT); ok {
			element(i, place)
		}
		r.pop()
	}
}

func (r *reader) texts(at slot, name string, v *[]string) {
	r.each(at, name,
		func(n int) { *v = make([]string, n) },
		func(i, place int) { (*v)[i] = r.string(place) })
}

func (r *reader) many(at slot, name string, _ int, create func(n int), element func(i int) table) {
	r.each(at, name, create, func(i, place int) { r.enter(place, element(i)) })
}

func (r *reader) one(at slot, name string, _ table, create func() table) {
	r.push(name)
	if place, ok := r.offset(at); ok {
		r.enter(place, create())
	}
	r.pop()
}

// kind reads the first field of a union, and finds the second.
func (r *reader) kind(at slot, kind *uint8, required bool) (place int, ok bool) {
	if field, ok := r.field(at, 1, 1); ok {
		*kind = r.b[field]
	}
	place, ok = r.offset(at + flatbuffers.SizeVOffsetT)
	switch {
	case *kind == 0 && ok:
		r.fail(place, "a value without a type")
	case *kind == 0 && required, *kind != 0 && !ok:
		r.fail(int(r.t.Pos), "missing")
	}
	return place, ok && r.err == nil
}

func (r *reader) union(at slot, name string, kind *uint8, required bool, member func(kind uint8) table) {
	r.push(name)
	defer r.pop()
	place, ok := r.kind(at, kind, required)
	if !ok {
		return
	}
	v := member(*kind)
	if v == nil {
		r.unknown(place, "there is no type %d", *kind)
		return
	}
	r.enter(place, v)
}

func (r *reader) structUnion(at slot, name string, kind *uint8, sizes []int, bits *uint64) {
	r.push(name)
	defer r.pop()
	place, ok := r.kind(at, kind, false)
	if !ok {
		return
	}
	if int(*kind) >= len(sizes) {
		r.unknown(place, "there is no type %d", *kind)
		return
	}
	if size := sizes[*kind]; r.take(place, size, size) {
		*bits = r.bits(place, size)
	}
}

func (r *reader) tensor(slot, string, int64) {}

func (r *reader) decline(at slot, name, format string, a ...any) {
	r.push(name)
	r.unknown(int(r.t.Pos)+int(r.t.Offset(at)), format, a...)
	r.pop()
}
