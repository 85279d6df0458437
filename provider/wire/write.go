package wire

import (
	"cmp"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"
)

func write(v table) []byte {
	w := writer{b: flatbuffers.NewBuilder(1024), vtables: map[string]flatbuffers.UOffsetT{}}
	w.b.Finish(w.add(v))
	return w.b.FinishedBytes()
}

// writer puts a table into a buffer. What a field points to is written while the fields are walked, in their order;
// the table itself afterwards, the widest fields first and those of one width from the last to the first. That is
// the order of the C++ code that flatc generates.
type writer struct {
	b       *flatbuffers.Builder
	vtables map[string]flatbuffers.UOffsetT
	entries []entry // of the table that is being walked
}

// entry is a field that will be written.
type entry struct {
	at     slot
	size   int // for the order; structs count as offsets
	bits   uint64
	struc  []byte // a struct, instead of bits, and its alignment
	align  int
	offset bool // bits are where it leads
}

func (w *writer) add(v table) flatbuffers.UOffsetT {
	outer := w.entries
	w.entries = nil
	v.layout(w)
	entries := w.entries
	w.entries = outer

	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(b.at, a.at))
	})
	b := w.b
	last := slot(2)
	for _, e := range entries {
		last = max(last, e.at)
	}
	b.StartObject(int(last-2) / 2)
	end := b.Offset()
	places := make([]flatbuffers.UOffsetT, int(last-2)/2)
	for _, e := range entries {
		switch {
		case e.struc != nil:
			b.Prep(e.align, len(e.struc))
			for i := len(e.struc) - 1; i >= 0; i-- {
				b.PlaceByte(e.struc[i])
			}
		case e.offset:
			b.PrependUOffsetT(flatbuffers.UOffsetT(e.bits))
		default:
			w.put(e.size, e.bits)
		}
		b.Slot(int(e.at-4) / 2)
		places[int(e.at-4)/2] = b.Offset()
	}
	at := b.EndObject()
	w.ownVtable(at, end, places)
	return at
}

// ownVtable makes sure that the table's vtable is right. The builder takes an earlier one with the same
// offsets whatever size of a table it names; the C++ library, which compares the size too, does not.
func (w *writer) ownVtable(at, end flatbuffers.UOffsetT, places []flatbuffers.UOffsetT) {
	vtable := make([]byte, (len(places)+flatbuffers.VtableMetadataFields)*flatbuffers.SizeVOffsetT)
	flatbuffers.WriteVOffsetT(vtable, flatbuffers.VOffsetT(len(vtable)))
	flatbuffers.WriteVOffsetT(vtable[2:], flatbuffers.VOffsetT(at-end))
	for i, place := range places {
		if place != 0 {
			flatbuffers.WriteVOffsetT(vtable[4+2*i:], flatbuffers.VOffsetT(at-place))
		}
	}
	b := w.b
	place, known := w.vtables[string(vtable)]
	if !known {
		if b.Offset() == at { // shared, and wrongly
			b.Prep(flatbuffers.SizeVOffsetT, len(vtable)-flatbuffers.SizeVOffsetT)
			for i := len(vtable) - 1; i >= 0; i-- {
				b.PlaceByte(vtable[i])
			}
		}
		place = b.Offset()
		w.vtables[string(vtable)] = place
	}
	flatbuffers.WriteSOffsetT(b.Bytes[flatbuffers.UOffsetT(len(b.Bytes))-at:], flatbuffers.SOffsetT(place)-flatbuffers.SOffsetT(at))
}

// put writes a scalar's bits.
func (w *writer) put(size int, bits uint64) {
	switch size {
	case 1:
		w.b.PrependUint8(uint8(bits))
	case 4:
		w.b.PrependUint32(uint32(bits))
	default:
		w.b.PrependUint64(bits)
	}
}

func (w *writer) scalar(at slot, _ string, size int, bits *uint64, initial uint64) {
	if *bits != initial {
		w.entries = append(w.entries, entry{at: at, size: size, bits: *bits})
	}
}

func (w *writer) optional(at slot, _ string, size int, bits *uint64, present *bool) {
	if *present {
		w.entries = append(w.entries, entry{at: at, size: size, bits: *bits})
	}
}

func (w *writer) structure(at slot, _ string, alignment int, bytes []byte, present *bool) {
	if *present {
		w.entries = append(w.entries, entry{at: at, size: flatbuffers.SizeUOffsetT, struc: bytes, align: alignment})
	}
}

// refer puts an offset into the table.
func (w *writer) refer(at slot, to flatbuffers.UOffsetT) {
	w.entries = append(w.entries, entry{at: at, size: flatbuffers.SizeUOffsetT, bits: uint64(to), offset: true})
}

func (w *writer) text(at slot, _ string, v *string, required bool) {
	if *v != "" || required {
		w.refer(at, w.b.CreateString(*v))
	}
}

// vector writes a vector that is not empty; put writes an element.
func vector[T any](w *writer, at slot, v []T, size int, put func(T)) {
	if len(v) == 0 {
		return
	}
	w.b.StartVector(size, len(v), size)
	for i := len(v) - 1; i >= 0; i-- {
		put(v[i])
	}
	w.refer(at, w.b.EndVector(len(v)))
}

func (w *writer) int64s(at slot, _ string, v *[]int64) {
	vector(w, at, *v, flatbuffers.SizeInt64, w.b.PrependInt64)
}

func (w *writer) int32s(at slot, _ string, v *[]int32) {
	vector(w, at, *v, flatbuffers.SizeInt32, w.b.PrependInt32)
}

func (w *writer) float64s(at slot, _ string, v *[]float64) {
	vector(w, at, *v, flatbuffers.SizeFloat64, w.b.PrependFloat64)
}

func (w *writer) texts(at slot, _ string, v *[]string) {
	places := make([]flatbuffers.UOffsetT, len(*v))
	for i, s := range *v {
		places[i] = w.b.CreateString(s)
	}
	vector(w, at, places, flatbuffers.SizeUOffsetT, w.b.PrependUOffsetT)
}

func (w *writer) many(at slot, _ string, n int, _ func(int), element func(i int) table) {
	places := make([]flatbuffers.UOffsetT, n)
	for i := range places {
		places[i] = w.add(element(i))
	}
	vector(w, at, places, flatbuffers.SizeUOffsetT, w.b.PrependUOffsetT)
}

func (w *writer) one(at slot, _ string, v table, _ func() table) {
	if v != nil {
		w.refer(at, w.add(v))
	}
}

func (w *writer) union(at slot, name string, kind *uint8, _ bool, member func(uint8) table) {
	if *kind != 0 {
		w.refer(at+flatbuffers.SizeVOffsetT, w.add(member(*kind)))
	}
	bits := uint64(*kind)
	w.scalar(at, name, 1, &bits, 0)
}

func (w *writer) structUnion(at slot, name string, kind *uint8, sizes []int, bits *uint64) {
	if *kind != 0 {
		w.put(sizes[*kind], *bits)
		w.refer(at+flatbuffers.SizeVOffsetT, w.b.Offset())
	}
	ordinal := uint64(*kind)
	w.scalar(at, name, 1, &ordinal, 0)
}

func (w *writer) tensor(slot, string, int64) {}

func (w *writer) decline(slot, string, string, ...any) {}
