package routing_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/routing"
)

// TestReadme: the table of MIOpen's variables is the one that people read.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	require.Contains(t, string(readme), routing.Markdown(), "copy what routing.Markdown returns into the README")
}
