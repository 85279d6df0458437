// Package runtime holds the sources of what runs inside a wrapper: the state word, the way of a call that does not pass
// straight through its stub, the reading of the environment, the traces, and the check that wrapper and private library
// belong together.
//
// The sources are data here: package split writes them beside the code that stubgen generates, and the C compiler makes
// one library of both. They are C and assembly because they run in every process that uses MIOpen, before anything may be
// allocated and under signals, forks and foreign threads.
package runtime

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed src
var sources embed.FS

// SignaturesHeader is the file that a unit with signatures, which stubgen writes, includes.
const SignaturesHeader = "signatures.hpp"

// Import is a function of the C library at a version node.
type Import struct{ Name, Node string }

// Imports are the functions of the C library that the wrapper may refer to, and nothing else outside of the private
// library: each at the oldest node that libc.so.6 has it at on x86-64, so that no wrapper needs more than glibc 2.17
// whatever it was made with. The memory functions are those that compilers call on their own account.
//
// Before glibc 2.34 the dl functions were in libdl.so.2, at the same node; the references to them are weak.
var Imports = []Import{
	{"__cxa_atexit", "GLIBC_2.2.5"},
	{"__errno_location", "GLIBC_2.2.5"},
	{"__register_atfork", "GLIBC_2.3.2"},
	{"clock_gettime", "GLIBC_2.17"},
	{"dl_iterate_phdr", "GLIBC_2.2.5"},
	{"dlerror", "GLIBC_2.2.5"},
	{"dlopen", "GLIBC_2.2.5"},
	{"dlsym", "GLIBC_2.2.5"},
	{"memcmp", "GLIBC_2.2.5"},
	{"memcpy", "GLIBC_2.14"},
	{"memmove", "GLIBC_2.2.5"},
	{"memset", "GLIBC_2.2.5"},
	{"secure_getenv", "GLIBC_2.17"},
	{"strlen", "GLIBC_2.2.5"},
}

var hookLine = regexp.MustCompile(`(?m)^SHIM_(HOOK|USE)\([^,]*, (miopen\w+),`)

// Hooked are the functions that a wrapper can forward, and used those that it calls for that: what hooks.def lists.
func Hooked() (hooked, used []string) {
	text, err := sources.ReadFile("src/hooks.def")
	if err != nil {
		panic(err) // it is part of the program
	}
	for _, m := range hookLine.FindAllStringSubmatch(string(text), -1) {
		if m[1] == "HOOK" {
			hooked = append(hooked, m[2])
		} else {
			used = append(used, m[2])
		}
	}
	return hooked, used
}

// Units are the files to compile, by path.
type Units struct {
	C        string // one translation unit: most of the time of a small one goes into the system's headers
	Assembly string
}

// Write writes all sources into a folder. Those that are not compiled are headers, which the others find beside
// themselves.
func Write(dir string) (Units, error) {
	units := Units{C: filepath.Join(dir, "runtime.c"), Assembly: filepath.Join(dir, "slow.S")}
	var together strings.Builder
	together.WriteString("#define _GNU_SOURCE\n") // before the first header of all of them
	names, err := fs.Glob(sources, "src/*")
	if err != nil {
		return Units{}, err
	}
	for _, name := range names {
		text, err := sources.ReadFile(name)
		if err != nil {
			return Units{}, err
		}
		if err := write(filepath.Join(dir, path.Base(name)), text); err != nil {
			return Units{}, err
		}
		if path.Ext(name) == ".c" {
			fmt.Fprintf(&together, "#include %q\n", path.Base(name))
		}
	}
	return units, write(units.C, []byte(together.String()))
}

func write(file string, text []byte) error {
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("writing a source of the wrapper: %w", err)
	}
	return nil
}

// CompileFlags are the options that the sources need, for the C and the C++ compiler.
func CompileFlags() []string {
	return []string{
		// More makes a split a fifth slower and the traces no faster.
		"-O1", "-fPIC", "-fvisibility=hidden", "-g0",
		// The code runs on the stacks of others, before and after everything else, and calls nothing that is not listed in
		// Imports: no helper functions of stack protection, of checked string functions or of profiling.
		"-fno-stack-protector", "-U_FORTIFY_SOURCE", "-fno-lto", "-fno-exceptions", "-fno-plt",
		// Debuggers and exceptions of the host walk through it.
		"-fasynchronous-unwind-tables",
		// As the stubs are: marked for indirect branch tracking and shadow stacks.
		"-fcf-protection=full",
	}
}
