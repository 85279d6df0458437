package routing

import (
	"fmt"
	"strconv"
	"strings"
)

// The variables that the bridge reads.
const (
	VarForwarding = "MIOPEN_HIPDNN_FORWARDING"
	VarConv       = "MIOPEN_HIPDNN_FORWARDING_CONV"
	VarDisable    = "MIOPEN_DISABLE_HIPDNN_FOR"
	VarPolicy     = "MIOPEN_HIPDNN_FORWARDING_POLICY"
	VarTiming     = "MIOPEN_HIPDNN_FORWARDING_TIMING"
	VarMemInfo    = "MIOPEN_HIPDNN_FORWARDING_MEMINFO"
	VarReport     = "MIOPEN_HIPDNN_FORWARDING_REPORT"
	VarEager      = "MIOPEN_HIPDNN_FORWARDING_EAGER"
	VarEngine     = "MIOPEN_HIPDNN_ENGINE"
	VarPlanCache  = "MIOPEN_HIPDNN_PLAN_CACHE"
	VarLogLevel   = "MIOPEN_LOG_LEVEL"
)

// AnyEngine is what Settings.Engine is for hipDNN's own order of engines.
const AnyEngine = "any"

// Policy is what becomes of a call that hipDNN was to serve and could not before anything was
// enqueued.
type Policy uint8

// The policies.
const (
	Fallback Policy = iota // MIOpen serves it
	Strict                 // it fails
)

// String is the policy's name in the variable.
func (p Policy) String() string {
	if p == Strict {
		return "strict"
	}
	return "fallback"
}

// ReportTo is where the report goes at the process's end.
type ReportTo struct {
	Stderr bool
	Path   string // of a file; both empty: no report
}

// Wanted reports whether there is to be a report.
func (r ReportTo) Wanted() bool { return r.Stderr || r.Path != "" }

// Settings are the switches of a process.
type Settings struct {
	// Forwarding is the master switch; it alone decides about "mode=" in the routing line.
	Forwarding bool
	// Conv is the switch for convolutions. It follows the master unless it is set.
	Conv bool
	// Disabled are the entry points that are not to be forwarded.
	Disabled [Entries]bool
	Policy   Policy
	Timing   bool
	MemInfo  bool
	Eager    bool // pair a hipDNN handle with every MIOpen handle at once
	// Engine is the name of the engine that is tried before hipDNN's others, AnyEngine for none, "" for
	// the one of the plugin that comes with the bridge.
	Engine    string
	PlanCache PlanCache
	Report    ReportTo
	LogLevel  uint64

	// Native is a variable of MIOpen that keeps every call with MIOpen, with its value, "" if none.
	Native string
	// Digest identifies the variables of MIOpen, hipDNN and what engines stand on that can decide which
	// plan is built.
	Digest uint64
	// Warnings are the lines to say once, without prefix or newline.
	Warnings []string
}

// Trace reports whether routing lines are wanted. MIOpen's levels are cumulative, these lines belong
// to level 6 alone: at 7 they would be lost in what MIOpen itself traces.
func (s *Settings) Trace() bool { return s.LogLevel == 6 }

// FailureLines reports whether a line is written for a call that failed in hipDNN. MIOpen's level 1
// is quiet, 2 is for fatal errors, and 0 is its default, which is neither.
func (s *Settings) FailureLines() bool { return s.LogLevel != 1 && s.LogLevel != 2 }

// Parse reads the switches from an environment, a list of NAME=VALUE as execve passes it. A value
// that makes no sense is as if it was not there, with a warning. Of a name that occurs twice the first
// counts, as with getenv.
func Parse(environ []string) *Settings {
	values := make(map[string]string, len(environ))
	for _, line := range environ {
		name, value, ok := strings.Cut(line, "=")
		if _, twice := values[name]; ok && !twice {
			values[name] = value
		}
	}
	p := parser{values: values, s: &Settings{}}
	s := p.s
	s.Forwarding = p.toggle(VarForwarding, false)
	s.Conv = p.toggle(VarConv, s.Forwarding)
	s.Timing = p.toggle(VarTiming, false)
	s.MemInfo = p.toggle(VarMemInfo, false)
	s.Eager = p.toggle(VarEager, false)
	if s.Engine = p.values[VarEngine]; strings.EqualFold(s.Engine, AnyEngine) {
		s.Engine = AnyEngine
	}
	p.planCache()
	p.disabled()
	p.policy()
	p.report()
	p.logLevel()
	if s.Forwarding { // otherwise nothing of MIOpen's own environment is this library's business
		p.environment()
	}
	return s
}

type parser struct {
	values map[string]string
	s      *Settings
}

func (p *parser) warn(format string, args ...any) {
	p.s.Warnings = append(p.s.Warnings, fmt.Sprintf(format, args...))
}

// toggle reads a switch; unset or empty is what it says by default.
func (p *parser) toggle(name string, unset bool) bool {
	value := p.values[name]
	if value == "" {
		return unset
	}
	on, ok := parseToggle(value)
	if !ok {
		p.warn("%s=%s is neither on (enable, enabled, 1, yes, on, true) nor off (disable, disabled, 0, no, off, false): off", name, value)
	}
	return on
}

func parseToggle(value string) (on, ok bool) {
	switch strings.ToLower(value) {
	case "enable", "enabled", "1", "yes", "on", "true":
		return true, true
	case "disable", "disabled", "0", "no", "off", "false":
		return false, true
	}
	return false, false
}

func (p *parser) disabled() {
	for _, item := range strings.Split(p.values[VarDisable], ",") {
		item = strings.TrimSpace(item)
		switch e, known := EntryByName(item); {
		case item == "":
		case item == "*":
			for i := range p.s.Disabled {
				p.s.Disabled[i] = true
			}
		case known && e.forwarded():
			p.s.Disabled[e] = true
		default:
			p.warn("%s names %s, which is not forwarded anyway: ignored", VarDisable, item)
		}
	}
}

func (p *parser) policy() {
	switch value := p.values[VarPolicy]; strings.ToLower(value) {
	case "", Fallback.String():
	case Strict.String():
		p.s.Policy = Strict
	default:
		p.warn("%s=%s is neither fallback nor strict: fallback", VarPolicy, value)
	}
}

func (p *parser) report() {
	value := p.values[VarReport]
	path, isFile := strings.CutPrefix(value, "file:")
	switch {
	case value == "":
	case value == "stderr":
		p.s.Report.Stderr = true
	case isFile && path != "":
		p.s.Report.Path = path
	default:
		p.warn("%s=%s is neither stderr nor file:PATH: no report", VarReport, value)
	}
}

// logLevel reads MIOpen's variable as MIOpen does, in any base; nonsense is MIOpen's to complain of.
func (p *parser) logLevel() {
	level, err := strconv.ParseUint(strings.TrimSpace(p.values[VarLogLevel]), 0, 64)
	if err == nil {
		p.s.LogLevel = level
	}
}
