package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/tests/workshop"
)

const (
	named      = "MIOPEN_HIPDNN_ENGINE="
	reportHere = "MIOPEN_HIPDNN_FORWARDING_REPORT=stderr"
	setPaths   = "hipdnnSetEnginePluginPaths_ext"
)

// withPlugin returns the forwarding library in a folder of its own with the plugin where it is installed, and an environment in
// which hipDNN finds another plugin by itself, which comes before it.
func withPlugin(t *testing.T) (library, plugin string, environment []string) {
	t.Helper()
	root := t.TempDir()
	library = workshop.Copy(t, bridge(t), filepath.Join(root, "lib", "libmiopen_hipdnn.so.1"))
	plugin = workshop.Copy(t, testPlugin(t), filepath.Join(root, "lib", "hipdnn_plugins", "engines", "libmiopen_private_plugin.so"))
	workshop.Copy(t, testPlugin(t), filepath.Join(root, "a", "another.so"))
	return library, plugin, []string{"HIPDNN_PLUGIN_DIR=" + filepath.Join(root, "a"), "TESTPLUGIN_ENGINES=libmiopen_private_plugin.so=MIOPEN_PRIVATE_ENGINE"}
}

// TestPlugin: hipDNN is told of the plugin beside the forwarding library, which is preferred unless another engine is asked for.
func TestPlugin(t *testing.T) {
	library, _, environment := withPlugin(t)
	for asked, engine := range map[string]string{
		"": "MIOPEN_PRIVATE_ENGINE", named + "Any": "TEST_ENGINE", named + "REF_DETERMINISTIC": "REF_DETERMINISTIC",
		named + "MIOPEN_PRIVATE_ENGINE": "MIOPEN_PRIVATE_ENGINE", named + "NO_SUCH_ENGINE": "TEST_ENGINE",
	} {
		s := scene{backend: reference(t), bridge: library, environment: append([]string{asked, reportHere}, environment...)}
		o := s.play(t, "create 1", "create 2", "conv 1", "conv 2", "conv 1 c=8", "destroy 1", "destroy 2", "finish")
		require.Equal(t, []string{opened, served, served, served}, o.stdout, asked)
		require.Equal(t, map[string]int{engine: 3}, o.report.Executions, asked)
		require.Equal(t, 1, o.report.Calls[setPaths].Count, asked)
		o.requireClean(t)
		said := strings.Join(o.stderr, "\n")
		switch asked {
		case named + "Any":
			require.NotContains(t, said, "engines:")
		case named + "NO_SUCH_ENGINE":
			require.Contains(t, said, "engines: 0 plans by NO_SUCH_ENGINE, 2 by others where it could not")
			require.Equal(t, 1, strings.Count(said, "MIOPEN_HIPDNN_ENGINE=NO_SUCH_ENGINE: hipdnnBackendFinalize (preferred engine)"), said)
		default:
			require.Contains(t, said, "engines: 2 plans by "+engine+", 0 by others")
			require.NotContains(t, said, "warning")
		}
	}
}

// TestPluginThatIsNotThere: then nothing is preferred, and nothing is said.
func TestPluginThatIsNotThere(t *testing.T) {
	library, plugin, environment := withPlugin(t)
	require.NoError(t, os.Rename(plugin, plugin+".1"))
	s := scene{backend: reference(t), bridge: library, environment: append(environment, "MIOPEN_HIPDNN_FORWARDING_TIMING=1", reportHere)}
	for _, what := range []string{"none", "link", "folder"} {
		switch what {
		case "link":
			require.NoError(t, os.Symlink(plugin+".1", plugin))
		case "folder":
			require.NoError(t, os.Remove(plugin))
			require.NoError(t, os.Mkdir(plugin, 0o755))
		}
		o := s.play(t, "create 1", "conv 1", "destroy 1", "finish")
		require.Equal(t, []string{opened, served}, o.stdout, what)
		require.Equal(t, map[string]int{"TEST_ENGINE": 1}, o.report.Executions, what)
		require.Zero(t, o.report.Calls[setPaths].Count, what)
		require.NotContains(t, strings.Join(o.stderr, "\n"), "plugin", what)
		require.NotContains(t, strings.Join(o.stderr, "\n"), "engines:", what)
		o.requireClean(t)
	}
}

// TestPluginThatHipDNNDoesNotTake: calls are forwarded all the same.
func TestPluginThatHipDNNDoesNotTake(t *testing.T) {
	library, plugin, environment := withPlugin(t)
	play := func(environment ...string) output {
		return scene{backend: reference(t), bridge: library, environment: environment}.play(t, "create 1", "conv 1", "destroy 1", "finish")
	}
	environment = append(environment, "REFHIPDNN_FAIL="+setPaths+"=NOT_SUPPORTED")
	o := play(environment...)
	require.Equal(t, []string{opened, served}, o.stdout)
	require.Empty(t, o.stderr)
	require.Equal(t, map[string]int{"TEST_ENGINE": 1}, o.report.Executions)
	o.requireClean(t)
	for _, talkative := range []string{"MIOPEN_HIPDNN_FORWARDING_TIMING=1", "MIOPEN_LOG_LEVEL=6"} {
		o = play(append(environment, talkative)...)
		require.Equal(t, 1, strings.Count(strings.Join(o.stderr, "\n"), "hipDNN was not told of the engine plugin: "+setPaths+" ("+plugin+"): NOT_SUPPORTED"), o.stderr)
	}

	// A hipDNN that has no such function.
	o = scene{backend: nullBackend(t), bridge: library}.play(t, "create 1", "conv 1")
	require.Equal(t, []string{opened, "done status=0 y=untouched last=0 text=NATIVE"}, o.stdout)
	require.Empty(t, o.stderr)

	// A plugin that is there and cannot: hipDNN's others do it.
	_, _, environment = withPlugin(t)
	o = play("HIPDNN_PLUGIN_DIR=/nowhere", environment[1], "TESTPLUGIN_DEFECT=context", reportHere)
	require.Equal(t, []string{opened, served}, o.stdout)
	require.Equal(t, map[string]int{"REF_DIRECT": 1}, o.report.Executions)
	require.Contains(t, strings.Join(o.stderr, "\n"), "engines: 0 plans by MIOPEN_PRIVATE_ENGINE, 1 by others where it could not")
}
