package routing

// Entry is an entry point that the wrapper hooks.
type Entry uint8

// The hooked entry points.
const (
	Create Entry = iota
	CreateWithStream
	Destroy
	SetStream
	ConvolutionForward
	EnableProfiling
	GetKernelTime
	GetErrorString
	entries
)

// Entries is the number of entry points; every Entry is below it.
const Entries = int(entries)

// family groups entry points that have a switch in common.
type family uint8

const (
	notForwarded family = iota // hooked to know about handles and errors; MIOpen serves the call
	convolutions
)

var entryTable = [entries]struct {
	name   string
	family family
}{
	Create:             {"miopenCreate", notForwarded},
	CreateWithStream:   {"miopenCreateWithStream", notForwarded},
	Destroy:            {"miopenDestroy", notForwarded},
	SetStream:          {"miopenSetStream", notForwarded},
	ConvolutionForward: {"miopenConvolutionForward", convolutions},
	EnableProfiling:    {"miopenEnableProfiling", notForwarded},
	GetKernelTime:      {"miopenGetKernelTime", notForwarded},
	GetErrorString:     {"miopenGetErrorString", notForwarded},
}

func (e Entry) forwarded() bool { return e < entries && entryTable[e].family != notForwarded }

// String is the entry point's name.
func (e Entry) String() string {
	if e >= entries {
		return "unknown entry point"
	}
	return entryTable[e].name
}

// EntryByName finds a hooked entry point.
func EntryByName(name string) (Entry, bool) {
	for e := range entries {
		if entryTable[e].name == name {
			return e, true
		}
	}
	return 0, false
}
