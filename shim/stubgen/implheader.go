package stubgen

import (
	"fmt"
	"slices"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/stubgen/header"
)

// ImplHeader returns miopen/miopen_impl.h, which declares every function that h declares and the library exports under
// its private name. The compiler takes the types from the public declarations. undeclared are the exported names that h
// does not declare: without a declaration there is no type to take, so they are left out and listed in a comment.
func ImplHeader(api exports.API, h *header.Header) (text []byte, undeclared []string) {
	var b strings.Builder
	b.WriteString(`/**
 * @file
 * The entry points of libMIOpen_private: miopenFoo_impl has the type, the meaning and the
 * implementation of miopenFoo, and calling it does not pass through the wrapper libMIOpen.
 *
 * Includes <miopen/miopen.h> and needs what that needs (HIP's headers, __HIP_PLATFORM_AMD__).
 * Declarations that <miopen/miopen.h> makes under a condition stand under the same one here, so
 * define MIOPEN_BETA_API before the first include of either to have those as well; they need C++.
 * Link with libMIOpen_private.
 *
 * Excludes miopen_private_rename.h, which gives the public names the private ones' meaning.
 */
#ifndef MIOPEN_IMPL_H_
#define MIOPEN_IMPL_H_

#if defined(MIOPEN_BUILDING_PRIVATE) || defined(MIOPEN_PRIVATE_RENAME_H_)
#error "<miopen/miopen_impl.h> with miopen_private_rename.h: use one of them in a translation unit"
#endif
`)
	if tags := h.BareTags(); len(tags) > 0 {
		b.WriteString("\n/* <miopen/miopen.h> names these structures without \"struct\", which is C++ only. */\n#ifndef __cplusplus\n")
		for _, tag := range tags {
			fmt.Fprintf(&b, "typedef struct %[1]s %[1]s;\n", tag)
		}
		b.WriteString("#endif\n")
	}
	b.WriteString(`
#include <miopen/miopen.h>

#ifdef __cplusplus
#define MIOPEN_IMPL_DECLARE(name) extern "C" decltype(::name) name##_impl
#else
#define MIOPEN_IMPL_DECLARE(name) extern __typeof__(name) name##_impl
#endif
`)
	groups, undeclared := groupByCondition(api.Names(), h)
	for _, g := range groups {
		b.WriteString("\n")
		for _, line := range g.conditions.Open() {
			b.WriteString(line + "\n")
		}
		for _, name := range g.names {
			fmt.Fprintf(&b, "MIOPEN_IMPL_DECLARE(%s);\n", name)
		}
		for range g.conditions {
			b.WriteString("#endif\n")
		}
	}
	b.WriteString("\n#undef MIOPEN_IMPL_DECLARE\n")
	if len(undeclared) > 0 {
		b.WriteString("\n/*\n * Exported as *_impl too, but not declared by <miopen/miopen.h>:\n")
		for _, name := range undeclared {
			fmt.Fprintf(&b, " *   %s\n", name)
		}
		b.WriteString(" */\n")
	}
	b.WriteString("\n#endif /* MIOPEN_IMPL_H_ */\n")
	return []byte(b.String()), undeclared
}

type group struct {
	conditions header.Conditions
	names      []string
}

// groupByCondition puts the names that stand under the same conditions together, the unconditional ones first.
func groupByCondition(names []string, h *header.Header) (groups []group, undeclared []string) {
	byKey := map[string]*group{}
	for _, name := range names {
		conditions := h.Declared(name)
		if len(conditions) == 0 {
			undeclared = append(undeclared, name)
		}
		for _, c := range conditions {
			key := strings.Join(c.Open(), "\n")
			if byKey[key] == nil {
				byKey[key] = &group{conditions: c}
			}
			g := byKey[key]
			g.names = append(g.names, name)
		}
	}
	keys := make([]string, 0, len(byKey))
	for key := range byKey {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		groups = append(groups, *byKey[key])
	}
	return groups, undeclared
}
