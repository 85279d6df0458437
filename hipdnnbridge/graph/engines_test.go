package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
)

// The ids of AMD's engines, heuristics and knobs are published with their names.
func TestEngineIDs(t *testing.T) {
	for name, id := range map[string]uint64{
		"":                                   0,
		"MIOPEN_ENGINE":                      0x15B46865C717A122,
		"MIOPEN_ENGINE_DETERMINISTIC":        0xA258541A6DAA1DE3,
		"HIPBLASLT_ENGINE":                   0x79AEB17432D4A22B,
		"FUSILLI_ENGINE":                     0xD3B00D1F8F0BDF92,
		"SelectionHeuristic::Config":         0x79DAC33209E0D5C1,
		"SelectionHeuristic::StaticOrdering": 0xB90B95E3C49B021D,
		"global.benchmarking":                0xCC7E550C6880E469,
	} {
		require.Equal(t, int64(id), graph.EngineID(name), name)
	}
	require.NotEqual(t, graph.EngineID(graph.EngineName), graph.EngineID(graph.DeterministicEngineName))
	require.NotZero(t, graph.EngineID(graph.EngineName))
}
