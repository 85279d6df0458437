package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"example.com/miopen_hipdnn_shim/shim/exports"
)

// linkBare makes, in dir, the least that can stand in front of a private library: one DT_NEEDED entry and a weak reference
// to each of its entry points, without a stub, a state or a byte of code. It needs a C compiler, as the split itself does.
func linkBare(dir, private string) (string, error) {
	library, err := exports.Read(private)
	if err != nil {
		return "", err
	}
	api, err := library.API()
	if err != nil {
		return "", err
	}
	var assembly strings.Builder
	assembly.WriteString(".section .data.rel.ro,\"aw\"\n")
	for _, name := range api.Names() {
		fmt.Fprintf(&assembly, ".weak %[1]s\n.quad %[1]s\n", name+exports.ImplSuffix)
	}
	assembly.WriteString(".section .note.GNU-stack,\"\",@progbits\n")

	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	bare := filepath.Join(dir, "libbare.so")
	link := exec.Command(compiler, "-shared", "-nostdlib", "-o", bare, "-Wl,-soname,libMIOpen.so.1", "-Wl,-z,now", "-Wl,-z,relro",
		"-Wl,--hash-style=gnu", "-Wl,--allow-shlib-undefined", "-Wl,--no-as-needed", "-x", "assembler", "-", "-x", "none", private)
	link.Stdin = strings.NewReader(assembly.String())
	if output, err := link.CombinedOutput(); err != nil {
		return "", fmt.Errorf("linking the bare wrapper: %s: %w\n%s", link, err, output)
	}
	return bare, nil
}
