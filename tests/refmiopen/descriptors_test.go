package refmiopen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// descriptors-3.5.1.txt is what tests/clients/descriptors.c prints on the real MIOpen 3.5.1 on a
// machine without a GPU.
const transcript = "testdata/descriptors-3.5.1.txt"

// sections splits the program's output at its headings, "[name]".
func sections(t *testing.T, text string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	name := ""
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if strings.HasPrefix(line, "[") {
			name = line
			continue
		}
		require.NotEmpty(t, name, "the output does not begin with a heading")
		out[name] = append(out[name], line)
	}
	return out
}

// differences returns the lines of got that are not want's, calls that got answered with "not
// implemented" and the values that belong to them left out.
func differences(want, got []string) []string {
	if len(want) != len(got) {
		return []string{"the sections differ in length"}
	}
	var out []string
	skipping := false
	for i, line := range got {
		if !strings.HasPrefix(line, " ") {
			skipping = strings.HasPrefix(line, "6 ")
		}
		if !skipping && line != want[i] {
			out = append(out, line+" (the real library: "+want[i]+")")
		}
	}
	return out
}

// Where the real library needs no device, this one gives the same statuses and the same values.
func TestDescriptorsAsTheRealLibrary(t *testing.T) {
	got := run(t, "", client(t, "descriptors"))
	require.Zero(t, got.exit, got.stderr)
	have, want := sections(t, got.stdout), sections(t, string(readFile(t, transcript)))
	compared := 0
	for _, name := range []string{"[versions and errors]", "[tensors]", "[convolutions]", "[refusals]", "[fusion plans]", "[problems]"} {
		require.NotEmpty(t, want[name], name)
		require.Empty(t, differences(want[name], have[name]), name)
		compared += len(have[name])
	}
	require.Greater(t, compared, 600)
	// With a device, or without needing one, a handle is to be had here.
	require.Contains(t, have["[handles]"], "0 miopenCreate(&handle)")

	total := have["[total]"]
	require.Len(t, total, 1)
	require.Regexp(t, `^[4-9]\d\d calls of (9\d|1\d\d) functions$`, total[0])
}

// The control: one changed status and one changed value are seen.
func TestDescriptorsDifferencesAreSeen(t *testing.T) {
	want := sections(t, string(readFile(t, transcript)))["[convolutions]"]
	require.Empty(t, differences(want, want))
	for i, line := range want {
		changed := append([]string(nil), want...)
		changed[i] = strings.Replace(line, "0", "1", 1)
		if changed[i] != line {
			require.Len(t, differences(want, changed), 1, line)
		}
	}
	require.NotEmpty(t, differences(want, want[1:]))
}

// Two runs print the same, which is what makes the program fit for comparing libraries.
func TestDescriptorsIsDeterministic(t *testing.T) {
	program := client(t, "descriptors")
	require.Equal(t, run(t, "", program), run(t, "", program))
}
