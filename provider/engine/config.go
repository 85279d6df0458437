package engine

import (
	"math"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/provider/wire"
)

// The knobs of both engines. Source of the names: GlobalKnobDefines.hpp of hipDNN's plugin SDK.
const (
	benchmarkingKnob   = "global.benchmarking"
	workspaceLimitKnob = "global.workspace_size_limit"
)

// config is what a plan is built by.
type config struct {
	engine       *Engine
	benchmarking bool
	limit        uint64 // bytes of workspace
}

// knob is a knob of whole numbers: what the engines say of it and what a setting does.
type knob struct {
	name, description string
	min, max          int64
	otherwise         int64
	set               func(c *config, v int64)
}

var knobs = []knob{
	{benchmarkingKnob, "1: measure MIOpen's solutions on the device when the plan is built, and take the fastest",
		0, 1, 0, func(c *config, v int64) { c.benchmarking = v == 1 }},
	{workspaceLimitKnob, "bytes of workspace that the plan may need at most",
		0, math.MaxInt64, math.MaxInt64, func(c *config, v int64) { c.limit = uint64(v) }},
}

// Behaviour notes that are true of both engines (hipdnnBackendBehaviorNote_t, BehaviorNote.h at
// 862f2cf0).
var notes = []int32{
	0, // RUNTIME_COMPILATION
	2, // SUPPORTS_GRAPH_CAPTURE
	3, // EXTERNAL_LIBRARY_DEPENDENCY
	4, // SUPPORTS_EXECUTION_PLAN_SERIALIZATION
}

// details is what an engine says of itself, for whatever graph it applies to.
func details(e *Engine) *wire.EngineDetails {
	d := &wire.EngineDetails{EngineID: e.ID, Name: e.Name, BehaviorNotes: notes}
	for i := range knobs {
		k := &knobs[i]
		d.Knobs = append(d.Knobs, wire.Knob{
			ID: graph.EngineID(k.name), Name: k.name, Description: k.description,
			ValueType: wire.IntValue(0), DefaultValue: wire.IntValue(k.otherwise),
			Constraints: &wire.IntConstraint{Min: k.min, Max: k.max, Step: 1},
		})
	}
	return d
}

// readConfig reads a serialised engine configuration.
func readConfig(b []byte) (config, error) {
	w, err := wire.ReadEngineConfig(b)
	if err != nil {
		return config{}, fail(StatusBadParam, "the engine configuration of %d bytes: %v", len(b), err)
	}
	c := config{}
	if c.engine, err = engineOf(w.EngineID); err != nil {
		return config{}, err
	}
	for i := range knobs {
		knobs[i].set(&c, knobs[i].otherwise)
	}
	var seen [8]bool
	for _, s := range w.Knobs {
		i := 0
		for ; i < len(knobs) && knobs[i].name != s.KnobID; i++ {
		}
		if i == len(knobs) {
			return config{}, fail(StatusInvalidValue, "%s has no knob %q", c.engine.Name, s.KnobID)
		}
		if seen[i] {
			return config{}, fail(StatusInvalidValue, "knob %q is set twice", s.KnobID)
		}
		seen[i] = true
		v, ok := s.Value.(wire.IntValue)
		if !ok {
			return config{}, fail(StatusInvalidValue, "knob %q is a whole number, not %T", s.KnobID, s.Value)
		}
		if k := &knobs[i]; int64(v) < k.min || int64(v) > k.max {
			return config{}, fail(StatusInvalidValue, "knob %q is %d, which is not from %d to %d", k.name, v, k.min, k.max)
		}
		knobs[i].set(&c, int64(v))
	}
	return c, nil
}
