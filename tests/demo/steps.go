package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"example.com/miopen_hipdnn_shim/tests/launch"
	"example.com/miopen_hipdnn_shim/tests/refmiopen/convcases"
)

// demo is one run, on one library.
type demo struct {
	name          string // of the library, for people
	stock, header string // header is "" when there is none
	out, home     string

	tool, descriptors string
	convrun           string // "" where convolutions need a device
}

type step struct {
	name string
	do   func(context.Context) (proven string, err error)
}

func (d *demo) steps() []step {
	steps := []step{
		{"split", d.split},
		{"verify", d.verify},
		{"program without a device", d.descriptorProgram},
	}
	if d.convrun != "" {
		steps = append(steps, step{"convolutions", d.convolutions})
	}
	return steps
}

// headerOf looks for the miopen.h of an installed library.
func headerOf(library string) string {
	for dir := filepath.Dir(library); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		header := filepath.Join(dir, "include", "miopen", "miopen.h")
		if _, err := os.Stat(header); err == nil {
			return header
		}
	}
	return ""
}

func (d *demo) split(ctx context.Context) (string, error) {
	args := []string{"split", "--in", d.stock, "--out", d.out}
	if d.header != "" {
		args = append(args, "--header", d.header)
	}
	if _, err := d.runTool(ctx, args...); err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(d.out, "manifest.json"))
	if err != nil {
		return "", err
	}
	var manifest struct {
		EntryPoints []json.RawMessage `json:"entry_points"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return "", err
	}
	if len(manifest.EntryPoints) == 0 {
		return "", errors.New("no entry point was split")
	}
	return fmt.Sprintf("%d entry points renamed in libMIOpen_private.so.1, one stub each in libMIOpen.so.1", len(manifest.EntryPoints)), nil
}

func (d *demo) verify(ctx context.Context) (string, error) {
	out, err := d.runTool(ctx, "verify", "--json", "--stock", d.stock, "--dir", d.out)
	if err != nil {
		return "", err
	}
	var checks []struct {
		Name     string `json:"name"`
		Compared int    `json:"compared"`
	}
	if err := json.Unmarshal(out, &checks); err != nil {
		return "", err
	}
	compared := map[string]int{}
	for _, c := range checks {
		compared[c.Name] = c.Compared
	}
	return fmt.Sprintf("%d checks hold: %d symbols, %d hash look-ups, %d relocations, %d bytes as in stock", len(checks),
		compared["private: dynamic symbols"], compared["private: hash tables"], compared["private: relocations"], compared["private: bytes"]), nil
}

// runTool runs miopen-shim and turns its exit status into that of the demo.
func (d *demo) runTool(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, d.tool, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, failure{max(1, cmd.ProcessState.ExitCode()), fmt.Errorf("miopen-shim %s: %w\n%s%s", args[0], err, stdout.Bytes(), stderr.Bytes())}
	}
	return stdout.Bytes(), nil
}

// both runs a program on the stock library and on the split, and returns what it printed, which must be the same.
func (d *demo) both(ctx context.Context, input []byte, program string) ([]byte, error) {
	host, err := launch.HostOf(d.stock)
	if err != nil {
		return nil, err
	}
	alone := filepath.Join(d.home, "stock")
	if err := os.MkdirAll(alone, 0o755); err != nil {
		return nil, err
	}
	link := filepath.Join(alone, "libMIOpen.so.1")
	if err := os.Symlink(d.stock, link); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	var outputs [2][]byte
	for i, dir := range []string{alone, d.out} {
		cmd, err := host.Command(ctx, d.home, []string{dir}, program)
		if err != nil {
			return nil, err
		}
		cmd.Stdin = bytes.NewReader(input)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if outputs[i], err = cmd.Output(); err != nil {
			return nil, fmt.Errorf("%s with the libraries in %s: %w\n%s", filepath.Base(program), dir, err, &stderr)
		}
	}
	if !bytes.Equal(outputs[0], outputs[1]) {
		return nil, fmt.Errorf("%s prints something else on the split:\n%s", filepath.Base(program), firstDifference(outputs[0], outputs[1]))
	}
	if len(outputs[0]) == 0 {
		return nil, fmt.Errorf("%s printed nothing", filepath.Base(program))
	}
	return outputs[1], nil
}

func firstDifference(stock, split []byte) string {
	a, b := strings.Split(string(stock), "\n"), strings.Split(string(split), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n  stock %s\n  split %s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines on stock, %d on the split", len(a), len(b))
}

func (d *demo) descriptorProgram(ctx context.Context) (string, error) {
	out, err := d.both(ctx, nil, d.descriptors)
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return "linked against stock, prints the same on both; " + lines[len(lines)-1], nil
}

func (d *demo) convolutions(ctx context.Context) (string, error) {
	cases := convcases.Generate(1, 200)
	var input bytes.Buffer
	if err := convcases.Write(&input, cases); err != nil {
		return "", err
	}
	out, err := d.both(ctx, input.Bytes(), d.convrun)
	if err != nil {
		return "", err
	}
	results, err := convcases.Parse(bytes.NewReader(out))
	if err != nil {
		return "", err
	}
	if len(results) != len(cases) {
		return "", fmt.Errorf("%d of %d convolutions gave a result", len(results), len(cases))
	}
	for i := range cases {
		if err := cases[i].Check(results[i]); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d through the wrapper, the same bytes as stock, right by a double-precision oracle", len(cases)), nil
}
