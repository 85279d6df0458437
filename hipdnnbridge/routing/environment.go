package routing

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Effect is what the bridge makes of a variable of MIOpen's.
type Effect uint8

// The effects.
const (
	// Maps: forwarded calls keep to it too, or it says nothing about calls.
	Maps Effect = iota
	// Ignored: it steers how MIOpen finds or runs a convolution, which is not asked for forwarded
	// calls. Their results are right all the same. One warning names it.
	Ignored
	// KeepsNative: forwarded calls could not honour it, so no call is forwarded. One warning says so.
	KeepsNative
)

// String is the effect's name in the table.
func (e Effect) String() string {
	switch e {
	case Maps:
		return "maps"
	case Ignored:
		return "ignored, one warning"
	case KeepsNative:
		return "forces native"
	}
	return "unknown"
}

// When is which values of a variable have its effect; one that is empty never has. The wrapper reads
// the variables that keep calls native too (shim/runtime/src/native.def), so that each of these is a
// function of its as well.
type When uint8

// The conditions.
const (
	Set     When = iota // any value
	On                  // a word that switches on, as MIOpen reads it
	NotZero             // anything but zeros, in any base
)

// String is the condition in the table.
func (w When) String() string {
	switch w {
	case Set:
		return "set"
	case On:
		return "on"
	case NotZero:
		return "not 0"
	}
	return "unknown"
}

func (w When) holds(value string) bool {
	switch w {
	case On:
		on, _ := parseToggle(value)
		return on
	case NotZero:
		return value != "" && isNotZero(value)
	}
	return value != ""
}

// Variable is a row of the table of MIOpen's environment.
type Variable struct {
	// Names are variables, or the beginnings of names where they end in *.
	Names  []string
	Effect Effect
	When   When
	Why    string
}

// Environment is the table of MIOpen's own environment; the first row that fits a name decides, and a
// value that the row does not apply to has no effect. The names are those in MIOpen 3.5.1's library
// and reference page (docs/reference/env_variables.rst at 05200be8); where a row says what a variable
// does, that is from this page, from docs/how-to/debug-log.rst at 03ed3951 or from the file named.
var Environment = []Variable{
	{
		Names:  []string{"MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC"},
		Effect: KeepsNative, When: On,
		Why: "a graph cannot ask an engine for deterministic results", // convolution.hpp at 12b22cd0
	},
	{
		Names:  []string{"MIOPEN_DEBUG_CONVOLUTION_ATTRIB_FP16_ALT_IMPL", "MIOPEN_DEBUG_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE"},
		Effect: KeepsNative,
		Why:    "it overrides an attribute of every convolution behind the API's back", // convolution.hpp at 12b22cd0
	},
	{
		Names:  []string{"MIOPEN_CHECK_NUMERICS", "MIOPEN_DUMP_TENSOR_PATH", "MIOPEN_DEBUG_CHECK_SUB_BUFFER_OOB_MEMORY_ACCESS"},
		Effect: KeepsNative, When: NotZero,
		Why: "MIOpen is to check what its kernels read and write, and sees nothing of forwarded calls",
	},
	{
		Names:  []string{"MIOPEN_DEBUG_COMPILE_ONLY"},
		Effect: KeepsNative, When: On,
		Why: "MIOpen is to compile kernels and run none",
	},
	{
		Names:  []string{"MIOPEN_DEVICE_ARCH", "MIOPEN_DEVICE_CU"},
		Effect: KeepsNative,
		Why:    "MIOpen is to compile for a device that is not there and run nothing", // src/hipoc/hipoc_kernel.cpp
	},
	{
		Names:  []string{"MIOPEN_DEBUG_AMD_MP_BD_WINOGRAD_EXPEREMENTAL_FP16_TRANSFORM"}, // MIOpen's spelling
		Effect: KeepsNative, When: On,
		Why: "it trades precision of half for speed",
	},
	{
		Names:  []string{"MIOPEN_TF32_OVERRIDE", "NVIDIA_TF32_OVERRIDE"},
		Effect: KeepsNative, When: On,
		Why: "it lets float convolutions round their inputs", // convolution.hpp at 12b22cd0
	},
	{
		Names: []string{
			"MIOPEN_LOG_LEVEL", "MIOPEN_ENABLE_LOGGING*", "MIOPEN_LOG_BUFFER_SIZE", "MIOPEN_WARN_SEARCH",
			"MIOPEN_DEBUG_LOGGING_QUIETING_DISABLE",
		},
		Effect: Maps,
		Why:    "logging; level 6 adds a routing line, 1 and 2 silence lines about failed forwarded calls",
	},
	{
		Names: []string{
			"MIOPEN_SYSTEM_DB_PATH", "MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR", "MIOPEN_DISABLE_CACHE",
			"MIOPEN_COMPILE_PARALLEL_LEVEL", "MIOPEN_DEBUG_SAVE_TEMP_DIR", "MIOPEN_DEBUG_EXIT_STATUS_TEMP_DIR",
			"MIOPEN_DEBUG_DISABLE_SQL_WAL", "MIOPEN_DEBUG_COMGR_LOG_*", "MIOPEN_AI_FDEEP_USE_SINGLE_THREAD_PREDICT",
		},
		Effect: Maps,
		Why:    "databases, caches and compilation; engines that run on MIOpen read them as MIOpen does",
	},
	{
		Names:  []string{"MIOPEN_DRIVER_*", "MIOPEN_VERIFY_TOLERANCE_PCT"},
		Effect: Maps,
		Why:    "MIOpenDriver's own",
	},
	{
		Names: []string{
			"MIOPEN_FIND_*", "MIOPEN_TUNING_*", "MIOPEN_SEARCH_CUTOFF", "MIOPEN_NAIVE_*", "MIOPEN_DEBUG_TUNING_ITERATIONS_MAX",
			"MIOPEN_DEBUG_DISABLE_FIND_DB", "MIOPEN_DEBUG_DISABLE_SYSTEM_DB", "MIOPEN_DEBUG_DISABLE_USER_DB",
		},
		Effect: Ignored,
		Why:    "find calls are MIOpen's and keep to it; hipDNN chooses an engine without a find",
	},
	{
		Names:  []string{"MIOPEN_DEBUG_FIND_ONLY_SOLVER", "MIOPEN_GEMM_ENFORCE_BACKEND"},
		Effect: Ignored,
		Why:    "it picks among MIOpen's solvers; hipDNN picks among engines, and those that run on MIOpen read it themselves",
	},
	{
		Names:  []string{"MIOPEN_DEBUG_CONVOLUTION_ATTRIB_FP8_ROUNDING_SEED"},
		Effect: Ignored,
		Why:    "problems that round at random are not forwarded",
	},
	{
		Names:  []string{"MIOPEN_DEBUG_ATTN_*", "MIOPEN_DEBUG_BN_*", "MIOPEN_DEBUG_OCL_SOFTMAX", "MIOPEN_RNN*", "MIOPEN_MS_WA_FIX"},
		Effect: Maps,
		Why:    "not about convolutions",
	},
	{
		Names:  []string{"MIOPEN_DEBUG_*", "MIOPEN_WORKAROUND_*", "MIOPEN_FORCE_HALF_TRANSPOSE_SHORTLIST"},
		Effect: Ignored,
		Why:    "it switches MIOpen's solvers or their parameters; engines that run on MIOpen read it themselves",
	},
}

// calls are what has the same say as a variable. They are not hooked, so nobody can warn of them.
var calls = []struct{ name, why string }{
	{"miopenSetTuningPolicy", "as `MIOPEN_FIND_ENFORCE`, which it overrides"},
	{"miopenSetConvolutionFindMode", "as `MIOPEN_FIND_MODE`"},
}

func isNotZero(value string) bool {
	digits := strings.TrimSpace(value)
	if after, hexadecimal := strings.CutPrefix(strings.ToLower(digits), "0x"); hexadecimal {
		digits = after
	}
	return digits == "" || strings.Trim(digits, "0") != ""
}

func (v *Variable) matches(name string) bool {
	for _, n := range v.Names {
		if prefix, wildcard := strings.CutSuffix(n, "*"); n == name || wildcard && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// rowOf returns the number of the row of a variable, -1 if it has none or the row does not apply to
// its value.
func rowOf(name, value string) int {
	for i := range Environment {
		v := &Environment[i]
		if !v.matches(name) {
			continue
		}
		if v.When.holds(value) {
			return i
		}
		return -1
	}
	return -1
}

// environment applies the table to what is set. There is one warning for each row.
func (p *parser) environment() {
	names := make([]string, 0, len(p.values))
	for name := range p.values {
		if strings.HasPrefix(name, "MIOPEN_") || strings.HasPrefix(name, "NVIDIA_") || choosesPlans(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	set := make([][]string, len(Environment))
	digest := xxhash.New()
	for _, name := range names {
		value := p.values[name]
		if row := rowOf(name, value); row >= 0 {
			set[row] = append(set[row], name+"="+value)
			if Environment[row].Effect != Ignored && !choosesPlans(name) {
				continue // the same plans are built, or none
			}
		} else if !choosesPlans(name) {
			continue
		}
		_, _ = digest.WriteString(name + "=" + value + "\x00") // a digest takes everything
	}
	p.s.Digest = digest.Sum64()
	for i := range Environment {
		if len(set[i]) == 0 {
			continue
		}
		switch what := strings.Join(set[i], ", "); Environment[i].Effect {
		case KeepsNative:
			p.warn("%s: no call is forwarded: %s", what, Environment[i].Why)
			if p.s.Native == "" {
				p.s.Native = set[i][0]
			}
		case Ignored:
			p.warn("%s: not looked at for forwarded calls: %s", what, Environment[i].Why)
		}
	}
}

// Markdown is the table of MIOpen's environment for people to read.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| variable of MIOpen | for forwarded calls | why |\n|---|---|---|\n")
	for i := range Environment {
		v := &Environment[i]
		b.WriteString("| `" + strings.Join(v.Names, "`, `") + "`")
		if v.When != Set {
			b.WriteString(", when " + v.When.String())
		}
		b.WriteString(" | " + v.Effect.String() + " | " + v.Why + " |\n")
	}
	for _, c := range calls {
		b.WriteString("| `" + c.name + "()` | ignored | " + c.why + " |\n")
	}
	return b.String()
}
