// Package hook is what the wrapper's hooks call: miopen_bridge_open and the functions of its table
// (shim/runtime/src/bridge.h).
//
// It pairs hipDNN handles with MIOpen handles, decides with package routing, translates with package
// translate, keeps plans with package plan and executes them with package hipdnn. It knows no ELF,
// nothing of the plugin, and of the wrapper only the table.
//
// C functions (table.c) stand between the wrapper and Go: they keep errno and hold the calling
// thread's last error. Exported Go functions do no work of their own but to convert arguments and to
// stop panics.
//
// Locks, in the order in which they are taken: handle.pairing, handle.mu, bridge.said. The first is
// held while hipDNN makes a handle, the second while a call is enqueued, for both of one MIOpen handle
// only; none is held while a plan is built.
package hook
