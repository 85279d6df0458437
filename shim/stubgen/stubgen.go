// Package stubgen writes the sources that make a wrapper from a library's exports: assembly stubs and tables, the unit
// from which the compiler learns the signatures, version script, the two headers for consumers of the private library,
// and Debian's symbols file. What the stubs jump to when they do not pass a call on is written by hand, in package
// runtime.
//
// It turns data into text: it opens no file and runs no compiler. The same input gives the same bytes, sorted in byte
// order, without dates or paths. It needs no prototypes, because a stub hands every register and the stack on as they
// are; the typed declarations in miopen_impl.h are derived by the compiler from MIOpen's own header.
package stubgen

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/shim/runtime"
)

// VersionFunction is the function that says which shim a wrapper is of.
const VersionFunction = "miopenHipdnnShimVersion"

// Additions are the functions that a wrapper exports beyond the stock API, at exports.ShimNode. ShimHeader declares them.
var Additions = []string{"miopenGetForwardingStatistics", "miopenGetLastForwardedError", VersionFunction}

// ShimHeader is the text of miopen/miopen_hipdnn_shim.h, the declarations of what a wrapper exports beyond the stock API.
//
//go:embed include/miopen/miopen_hipdnn_shim.h
var ShimHeader []byte

// internalPrefix starts the assembler names that only carry a .symver directive.
const internalPrefix = "__miopen_shim_"

// VersionScript returns the linker's version script. nodes are all nodes of the stock library, those without an entry
// point included: a program that was linked against the stock library may require any of them from the file of that
// name, and the loader refuses to start it when one is missing.
func VersionScript(api exports.API, nodes []exports.Node) []byte {
	local := []string{"*"}
	if slices.ContainsFunc(api.Entries, func(e exports.EntryPoint) bool { return e.Node == "" }) {
		// A name that no node lists stays exported without a version, as it is in the stock library; so what is not to be
		// exported has to be listed, the names that linkers define themselves among it.
		local = []string{internalPrefix + "*", "__bss_start", "_edata", "_end"}
	}
	return fmt.Appendf(versionNodes(api, nodes, ""), "%s {\n  global:\n    %s;\n  local:\n    %s;\n};\n",
		exports.ShimNode, strings.Join(Additions, ";\n    "), strings.Join(local, ";\n    "))
}

// versionNodes writes the nodes with their entry points, whose names end in suffix.
func versionNodes(api exports.API, nodes []exports.Node, suffix string) []byte {
	members := map[string][]string{}
	for _, e := range api.Entries {
		if !e.Hidden { // .symver places the others
			members[e.Node] = append(members[e.Node], e.Name+suffix)
		}
	}
	var b strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&b, "%s {\n", n.Name)
		if names := members[n.Name]; len(names) > 0 {
			fmt.Fprintf(&b, "  global:\n    %s;\n", strings.Join(names, ";\n    "))
		}
		fmt.Fprintf(&b, "}%s;\n", strings.Join(append([]string{""}, n.Parents...), " "))
	}
	return []byte(b.String())
}

// StandIn returns the source of a library that exports what the private library does, and nothing behind it. The wrapper
// is linked against it: a linker takes names and versions from a library, never code, and reads them through section
// headers, which a private library need not have. So the link neither waits for the private library nor depends on its
// size.
func StandIn(api exports.API) []byte {
	var b strings.Builder
	b.WriteString("\t.text\n")
	for i, e := range api.Entries {
		def := e.Name + exports.ImplSuffix
		if e.Hidden {
			def = fmt.Sprintf("%sdef_%d", internalPrefix, i)
			fmt.Fprintf(&b, "\t.symver\t%s, %s%s@%s\n", def, e.Name, exports.ImplSuffix, e.Node)
		}
		fmt.Fprintf(&b, "\t.globl\t%[1]s\n\t.type\t%[1]s, @function\n%[1]s:\n\t.size\t%[1]s, 1\n\t.byte\t0xcc\n", def)
	}
	b.WriteString("\t.section\t.note.GNU-stack, \"\", @progbits\n")
	return []byte(b.String())
}

// LibC returns assembly and version script of a library that stands in for libc.so.6 when the wrapper is linked: it has
// what the wrapper may refer to, at the oldest nodes, and nothing else. So the wrapper's needs do not depend on the C
// library of the machine that makes it.
func LibC() (assembly, script []byte) {
	var code, nodes strings.Builder
	code.WriteString("\t.text\n")
	members := map[string][]string{}
	for _, f := range runtime.Imports {
		fmt.Fprintf(&code, "\t.globl\t%[1]s\n\t.type\t%[1]s, @function\n%[1]s:\n\t.size\t%[1]s, 1\n\t.byte\t0xcc\n", f.Name)
		members[f.Node] = append(members[f.Node], f.Name)
	}
	code.WriteString("\t.section\t.note.GNU-stack, \"\", @progbits\n")
	for _, node := range slices.Sorted(maps.Keys(members)) {
		fmt.Fprintf(&nodes, "%s {\n  global:\n    %s;\n};\n", node, strings.Join(members[node], ";\n    "))
	}
	return []byte(code.String()), []byte(nodes.String())
}

// StandInScript returns the version script of StandIn.
func StandInScript(api exports.API, nodes []exports.Node) []byte {
	if len(nodes) == 0 {
		return []byte("{ global: *; };\n") // an empty script is a syntax error, this one defines no version
	}
	return versionNodes(api, nodes, exports.ImplSuffix)
}

// RenameHeader returns miopen_private_rename.h: with it and -DMIOPEN_BUILDING_PRIVATE, sources that use or define the
// public names use or define the private ones. The macros are object-like, so that taking a function's address is
// renamed as a call is.
func RenameHeader(api exports.API) []byte {
	var b strings.Builder
	b.WriteString(`/**
 * @file
 * Renames MIOpen's entry points to the names under which libMIOpen_private exports them.
 *
 *     cc -DMIOPEN_BUILDING_PRIVATE -include miopen_private_rename.h ...
 *
 * compiles MIOpen itself into a private library, or a client that uses the public names into one
 * that calls the private library. It has to come before <miopen/miopen.h>, hence -include. Without
 * MIOPEN_BUILDING_PRIVATE it does nothing. Code that spells the private names out includes
 * <miopen/miopen_impl.h> instead; the two exclude each other.
 *
 * Made from the exports of the library that was split: names that MIOpen exports and does not
 * declare are renamed too.
 */
#ifndef MIOPEN_PRIVATE_RENAME_H_
#define MIOPEN_PRIVATE_RENAME_H_

#ifdef MIOPEN_BUILDING_PRIVATE

#ifdef MIOPEN_IMPL_H_
#error "miopen_private_rename.h after <miopen/miopen_impl.h>: use one of them in a translation unit"
#endif

`)
	for _, name := range api.Names() {
		fmt.Fprintf(&b, "#define %s %s%s\n", name, name, exports.ImplSuffix)
	}
	b.WriteString(`
#endif /* MIOPEN_BUILDING_PRIVATE */

#endif /* MIOPEN_PRIVATE_RENAME_H_ */
`)
	return []byte(b.String())
}

// DebianSymbols returns the package's symbols file (deb-src-symbols(5)) for a wrapper with that SONAME, "libMIOpen.so.1".
// The minimal version of every symbol is 0: a library does not know in which package version a function came first, so
// the packager's tool (dpkg-gensymbols -v) has to say it.
func DebianSymbols(api exports.API, nodes []exports.Node, soname string) []byte {
	lines := []string{
		fmt.Sprintf(" (optional)%[1]s@%[1]s 0\n", exports.ShimNode),
	}
	for _, name := range Additions {
		lines = append(lines, fmt.Sprintf(" %s@%s 0\n", name, exports.ShimNode))
	}
	for _, n := range nodes {
		// Only GNU ld defines a symbol for the node itself.
		lines = append(lines, fmt.Sprintf(" (optional)%[1]s@%[1]s 0\n", n.Name))
	}
	for _, e := range api.Entries {
		node := e.Node
		if node == "" {
			node = "Base"
		}
		lines = append(lines, fmt.Sprintf(" %s@%s 0\n", e.Name, node))
	}
	key := func(line string) string { return strings.TrimPrefix(strings.TrimSpace(line), "(optional)") }
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	return fmt.Appendf(nil, "# Minimal version 0 stands for \"not known\": dpkg-gensymbols -v sets it.\n%s %s #MINVER#\n%s",
		soname, DebianPackage(soname), strings.Join(lines, ""))
}

// DebianPackage returns the name of the package that ships a library of that SONAME: "libmiopen1" for "libMIOpen.so.1".
func DebianPackage(soname string) string {
	base, version, _ := strings.Cut(soname, ".so.")
	return strings.ToLower(base) + version
}
