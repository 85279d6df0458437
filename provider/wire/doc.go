// Package wire reads and writes hipDNN's FlatBuffers: operation graphs, engine configurations and engine
// details, as values of Go.
//
// It knows the tables of hipDNN's schemas (namespace hipdnn_flatbuffers_sdk.data_objects: graph.fbs,
// tensor_attributes.fbs, the attributes of each operation, engine_config.fbs, engine_details.fbs, knob_value.fbs)
// and nothing of what a graph means; Check alone looks at how nodes and tensors fit, and the rules of order and
// shape are those of hipdnnbridge/graph. Each table's fields and slots stand once, in its layout method, which reading,
// writing and Check walk.
//
// Reading takes any bytes. Every offset, length and alignment is checked before it is followed; a table cannot
// contain its own kind, so that nothing nests deeper than the schemas do; and the total of what is read is bounded
// by the length of the input, however often its parts are shared. What comes back is a copy. Fields that these
// schemas do not have are left out, as FlatBuffers wants it: a graph that depends on them says so in its required
// API version.
//
// Writing lays tables out as the code that Google's compiler generates for C++ does, byte for byte: a scalar that has
// its default, an empty string and an empty vector are left out, an optional scalar is left out only if it is nil.
// As there, -0.0 is a default of 0.
//
// All functions may be called from several goroutines as long as none changes a value that another one uses.
package wire
