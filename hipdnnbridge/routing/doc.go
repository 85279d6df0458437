// Package routing decides which calls go to hipDNN, says why, and counts what happened.
//
// It holds the switches, which are parsed once from a copy of the environment, the set of entry
// points that are forwarded, the counters and the report. It knows reasons and names; it makes no
// calls, reads no environment by itself and knows nothing of graphs or plans.
//
// Everything but Parse may be used by any number of threads. What happens on every call (Decide,
// Count) does not allocate, format or lock.
package routing
