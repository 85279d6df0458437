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
	"strings"
)

//go:embed src
var sources embed.FS

// SignaturesHeader is the file that a unit with signatures, which stubgen writes, includes.
const SignaturesHeader = "signatures.hpp"

// Imports are the functions of the C library that the wrapper may refer to, and nothing else outside of the private
// library. The memory functions are those that compilers call on their own account.
var Imports = []string{
	"__cxa_atexit", "__errno_location", "clock_gettime", "dl_iterate_phdr", "secure_getenv",
	"memcpy", "memmove", "memset", "strlen",
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
		"-O2", "-fPIC", "-fvisibility=hidden", "-g0",
		// The code runs on the stacks of others, before and after everything else, and calls nothing that is not listed in
		// Imports: no helper functions of stack protection, of checked string functions or of profiling.
		"-fno-stack-protector", "-U_FORTIFY_SOURCE", "-fno-lto", "-fno-exceptions", "-fno-plt",
		// Debuggers and exceptions of the host walk through it.
		"-fasynchronous-unwind-tables",
		// As the stubs are: marked for indirect branch tracking and shadow stacks.
		"-fcf-protection=full",
	}
}
