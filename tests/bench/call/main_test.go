package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The check of the peers, on the peer as it is built and on ones that a compiler's options made into something else.
func TestCallsThroughPLT(t *testing.T) {
	for _, c := range []struct {
		name, function string
		options        []string
		says           string
	}{
		{"stub", "miopenGetVersion_impl", nil, ""},
		{"static", "__cxa_guard_acquire", []string{"-DPEER_STATIC_ROUTE"}, ""},
		{"without a table", "miopenGetVersion_impl", []string{"-fno-plt"}, "procedure linkage table"},
		{"without a guard", "__cxa_guard_acquire", []string{"-DPEER_STATIC_ROUTE", "-fno-threadsafe-statics"}, "does not call __cxa_guard_acquire"},
	} {
		t.Run(c.name, func(t *testing.T) {
			peer := filepath.Join(t.TempDir(), "libpeer.so")
			out, err := exec.Command("cc", append(c.options, "-O2", "-fPIC", "-shared", "-Wl,-z,now", "-o", peer, filepath.Join("worker", "peer.cpp"))...).CombinedOutput()
			require.NoError(t, err, string(out))
			err = callsThroughPLT(peer, c.function)
			if c.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.says)
			}
		})
	}
}
