package routing_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/routing"
)

// parse reads settings from variables with forwarding on.
func parse(environ ...string) *routing.Settings {
	return routing.Parse(append([]string{"MIOPEN_HIPDNN_FORWARDING=1"}, environ...))
}

func TestEmptyEnvironment(t *testing.T) {
	for _, environ := range [][]string{nil, {"PATH=/bin", "MIOPEN_HIPDNN_FORWARDING="}, {"MIOPEN_HIPDNN_FORWARDING"}, {"", "="}} {
		s := routing.Parse(environ)
		require.False(t, s.Forwarding)
		require.False(t, s.Conv)
		require.False(t, s.Report.Wanted())
		require.Equal(t, routing.Fallback, s.Policy)
		require.Empty(t, s.Warnings)
		require.True(t, s.FailureLines())
		require.False(t, s.Trace())
	}
}

func TestToggles(t *testing.T) {
	on := []string{"enable", "enabled", "1", "yes", "on", "true", "ENABLED", "Yes", "tRuE"}
	off := []string{"disable", "disabled", "0", "no", "off", "false", "OFF", "False"}
	for variable, read := range map[string]func(s *routing.Settings) bool{
		routing.VarForwarding: func(s *routing.Settings) bool { return s.Forwarding },
		routing.VarConv:       func(s *routing.Settings) bool { return s.Conv },
		routing.VarTiming:     func(s *routing.Settings) bool { return s.Timing },
		routing.VarMemInfo:    func(s *routing.Settings) bool { return s.MemInfo },
		routing.VarEager:      func(s *routing.Settings) bool { return s.Eager },
	} {
		for _, value := range on {
			s := routing.Parse([]string{variable + "=" + value})
			require.True(t, read(s), "%s=%s", variable, value)
			require.Empty(t, s.Warnings)
		}
		for _, value := range off {
			s := routing.Parse([]string{variable + "=" + value})
			require.False(t, read(s), "%s=%s", variable, value)
			require.Empty(t, s.Warnings)
		}
		for _, value := range []string{"2", "enable ", "maybe", "-1"} {
			s := routing.Parse([]string{variable + "=" + value})
			require.False(t, read(s), "%s=%s", variable, value)
			require.Len(t, s.Warnings, 1)
			require.Contains(t, s.Warnings[0], variable+"="+value)
		}
	}
}

func TestConvFollowsTheMaster(t *testing.T) {
	require.True(t, parse().Conv)
	require.True(t, parse("MIOPEN_HIPDNN_FORWARDING_CONV=").Conv)
	require.False(t, parse("MIOPEN_HIPDNN_FORWARDING_CONV=off").Conv)
	s := routing.Parse([]string{"MIOPEN_HIPDNN_FORWARDING_CONV=enabled"})
	require.True(t, s.Conv)
	require.False(t, s.Forwarding, "it does not lead the master")
}

func TestFirstOfANameCounts(t *testing.T) {
	require.False(t, routing.Parse([]string{"MIOPEN_HIPDNN_FORWARDING=0", "MIOPEN_HIPDNN_FORWARDING=1"}).Forwarding)
}

func TestDisabledEntryPoints(t *testing.T) {
	for value, disabled := range map[string]bool{
		"miopenConvolutionForward":        true,
		" miopenConvolutionForward ,":     true,
		",,miopenConvolutionForward,,":    true,
		"*":                               true,
		" * ":                             true,
		"":                                false,
		" , ":                             false,
		"miopenConvolutionForwardBias":    false,
		"miopenconvolutionforward":        false,
		"miopenConvolution*":              false,
		"miopenCreate":                    false,
		"miopenPoolingForward,nonsense":   false,
		"x,miopenConvolutionForward,more": true,
	} {
		s := parse("MIOPEN_DISABLE_HIPDNN_FOR=" + value)
		require.Equal(t, disabled, s.Disabled[routing.ConvolutionForward], "%q", value)
		unknown := 0
		for _, item := range strings.Split(value, ",") {
			if item = strings.TrimSpace(item); item != "" && item != "*" && item != "miopenConvolutionForward" {
				unknown++
				require.Contains(t, strings.Join(s.Warnings, "\n"), " "+item+",", "%q", value)
			}
		}
		require.Len(t, s.Warnings, unknown, "%q", value)
	}
}

func TestPolicy(t *testing.T) {
	require.Equal(t, routing.Strict, parse("MIOPEN_HIPDNN_FORWARDING_POLICY=strict").Policy)
	require.Equal(t, routing.Strict, parse("MIOPEN_HIPDNN_FORWARDING_POLICY=Strict").Policy)
	require.Equal(t, routing.Fallback, parse("MIOPEN_HIPDNN_FORWARDING_POLICY=fallback").Policy)
	s := parse("MIOPEN_HIPDNN_FORWARDING_POLICY=lenient")
	require.Equal(t, routing.Fallback, s.Policy)
	require.Len(t, s.Warnings, 1)
	require.Equal(t, "strict fallback", routing.Strict.String()+" "+routing.Fallback.String())
}

func TestReportTo(t *testing.T) {
	require.Equal(t, routing.ReportTo{Stderr: true}, parse("MIOPEN_HIPDNN_FORWARDING_REPORT=stderr").Report)
	require.Equal(t, routing.ReportTo{Path: "/a b/c=d"}, parse("MIOPEN_HIPDNN_FORWARDING_REPORT=file:/a b/c=d").Report)
	for _, value := range []string{"file:", "stdout", "/tmp/x", "1"} {
		s := parse("MIOPEN_HIPDNN_FORWARDING_REPORT=" + value)
		require.False(t, s.Report.Wanted(), value)
		require.Len(t, s.Warnings, 1)
	}
}

// Level 6 alone traces, 1 and 2 alone are quiet.
func TestLogLevels(t *testing.T) {
	for value, level := range map[string]uint64{
		"0": 0, "1": 1, "2": 2, "3": 3, "5": 5, "6": 6, " 6 ": 6, "0x6": 6, "7": 7, "16": 16,
		"": 0, "six": 0, "-6": 0, "6.0": 0,
	} {
		s := parse("MIOPEN_LOG_LEVEL=" + value)
		require.Equal(t, level, s.LogLevel, "%q", value)
		require.Equal(t, level == 6, s.Trace(), "%q", value)
		require.Equal(t, level != 1 && level != 2, s.FailureLines(), "%q", value)
		require.Empty(t, s.Warnings)
	}
}

// TestEngine: the name is an engine's, but for one word.
func TestEngine(t *testing.T) {
	require.Empty(t, parse().Engine)
	require.Equal(t, routing.AnyEngine, parse("MIOPEN_HIPDNN_ENGINE=ANY").Engine)
	require.Equal(t, "MIOPEN_ENGINE", parse("MIOPEN_HIPDNN_ENGINE=MIOPEN_ENGINE").Engine)
	r := routing.New(parse())
	require.NotContains(t, r.Report(routing.Plans{Builds: 3}), "engines:")
	require.Contains(t, r.Report(routing.Plans{Builds: 3, Engine: "E", Others: 1}), "engines: 2 plans by E, 1 by others where it could not\n")
}
