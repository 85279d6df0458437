// Package engine runs operation graphs of hipDNN on the private MIOpen: what a hipDNN engine plugin
// has to do, without the C around it.
//
// A graph is read (provider/wire), checked and translated to one operation of MIOpen
// (hipdnnbridge/translate), or declined with a reason: one is that tensors are not packed, which MIOpen
// has words for and does not compute right (translate.Packed). Applicability compiles nothing. Building a
// plan chooses a solution and compiles it, once; executing it looks up buffers and enqueues, and
// neither allocates nor waits, so it can be captured in a HIP graph.
//
// A convolution runs in MIOpen's immediate mode, with the first solution of MIOpen's own order that
// fits the workspace limit and compiles. With benchmarking on, MIOpen measures the solutions first,
// on memory that it allocates itself (find 2.0), and the fastest is taken. A convolution that is
// fused with a bias or a rectifier runs as a fusion plan, for which MIOpen chooses by itself and
// cannot say before it compiles whether it has a solution: such a graph is accepted by static rules,
// and building its plan may still fail with StatusNotApplicable.
//
// A Context belongs to the Handle that made it, since MIOpen compiles per handle: executing it on
// another one would have to compile in the middle of a stream, and is an error.
//
// The package calls no C and knows no ELF; MIOpen is an interface, which provider/private
// implements. It never panics on what it is given, whatever that is.
package engine
