package stubgen

import (
	"fmt"
	"slices"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/runtime"
	"example.com/miopen_hipdnn_shim/shim/stubgen/header"
)

// Signatures returns the C++ unit that defines the table of signatures: how many words of arguments each function takes
// on the stack, and what a refusal of it returns. It is compiled with h included before it; the compiler takes the types
// from h's declarations, under the conditions under which h makes them. Functions that h does not declare are unknown.
func Signatures(api exports.API, h *header.Header) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "#include %q\n\nnamespace miopen_shim {\n", runtime.SignaturesHeader)
	hooked, used := runtime.Hooked()
	known := slices.Concat(hooked, used)
	for i, e := range api.Entries {
		for n, conditions := range h.Declared(e.Name) {
			for _, line := range conditions.Open() {
				b.WriteString(line + "\n")
			}
			// Conditions may overlap, and a template is specialised once.
			if n == 0 {
				fmt.Fprintf(&b, "#define MIOPEN_SHIM_KNOWN_%d\n", i)
			} else {
				fmt.Fprintf(&b, "#ifndef MIOPEN_SHIM_KNOWN_%[1]d\n#define MIOPEN_SHIM_KNOWN_%[1]d\n", i)
			}
			fmt.Fprintf(&b, "template <> struct number<%d> : of<decltype(::%s)> {};\n", i, e.Name)
			if slices.Contains(known, e.Name) {
				fmt.Fprintf(&b, "static_assert(same_call<decltype(::%[1]s), hooked_%[1]s>::value, \"%[1]s is not the function that the wrapper forwards\");\n", e.Name)
			}
			if n > 0 {
				b.WriteString("#endif\n")
			}
			for range conditions {
				b.WriteString("#endif\n")
			}
		}
	}
	b.WriteString("} // namespace miopen_shim\n\nextern \"C\" const shim_signature miopen_shim_signatures[] = {\n")
	for i, e := range api.Entries {
		fmt.Fprintf(&b, "    miopen_shim::number<%d>::value, // %s\n", i, e.Name)
	}
	b.WriteString("};\n")
	return []byte(b.String())
}

// UnknownSignatures returns the C unit that stands in for Signatures when there is no header.
func UnknownSignatures(api exports.API) []byte {
	return fmt.Appendf(nil, `#include "state.h"

const struct shim_signature miopen_shim_signatures[] = {
    [0 ... %d] = {SHIM_WORDS_UNKNOWN, SHIM_RESULT_STATUS},
};
`, len(api.Entries)-1)
}
