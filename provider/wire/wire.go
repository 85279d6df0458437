package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// Error says why bytes are not what they were read as, or why a graph fails its Check.
type Error struct {
	Path   string // of the field, as tensors[3].dims; empty for the buffer itself
	Offset int    // in the buffer, from its start; -1 from Check
	Text   string
	// Unknown says that a number stands for nothing that is known here. It may in another release of hipDNN: the bytes
	// are not broken, as far as they were read.
	Unknown bool
}

// Error implements error.
func (e *Error) Error() string {
	path := e.Path
	if path == "" {
		path = "the buffer"
	}
	if e.Offset < 0 {
		return fmt.Sprintf("wire: %s: %s", path, e.Text)
	}
	return fmt.Sprintf("wire: %s at byte %d: %s", path, e.Offset, e.Text)
}

// step is a part of a path: a field, or an element of the vector before it if there is no name.
type step struct {
	name  string
	index int
}

func join(path []step) string {
	var out strings.Builder
	for i, s := range path {
		switch {
		case s.name == "":
			out.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		case i > 0:
			out.WriteByte('.')
		}
		out.WriteString(s.name)
	}
	return out.String()
}

// ReadGraph reads a graph. The error is an *Error.
func ReadGraph(b []byte) (*Graph, error) { return read[Graph](b) }

// WriteGraph is the graph's buffer.
func WriteGraph(g *Graph) []byte { return write(g) }

// ReadEngineConfig reads an engine configuration. The error is an *Error.
func ReadEngineConfig(b []byte) (*EngineConfig, error) { return read[EngineConfig](b) }

// WriteEngineConfig is the configuration's buffer.
func WriteEngineConfig(c *EngineConfig) []byte { return write(c) }

// ReadEngineDetails reads an engine's details. The error is an *Error.
func ReadEngineDetails(b []byte) (*EngineDetails, error) { return read[EngineDetails](b) }

// WriteEngineDetails is the details' buffer.
func WriteEngineDetails(d *EngineDetails) []byte { return write(d) }
