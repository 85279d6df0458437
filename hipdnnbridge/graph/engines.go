package graph

// The engines of the plugin in this project. hipDNN knows an engine by its name's hash.
const (
	// EngineName is the engine that runs what MIOpen thinks is fastest.
	EngineName = "MIOPEN_PRIVATE_ENGINE"
	// DeterministicEngineName is the engine whose results do not change from run to run.
	DeterministicEngineName = "MIOPEN_PRIVATE_ENGINE_DETERMINISTIC"
)

// EngineID is the number of the engine of that name: its FNV-1a hash of 64 bits, as a signed number;
// 0 for no name. Source: hipDNN's RFC 0003.
func EngineID(name string) int64 {
	if name == "" {
		return 0
	}
	hash := uint64(0xcbf29ce484222325)
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * 0x100000001b3
	}
	return int64(hash)
}
