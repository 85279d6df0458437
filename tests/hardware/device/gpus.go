package device

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	kfd   = "dev/kfd"
	nodes = "sys/class/kfd/kfd/topology/nodes"
)

// gpu is one GPU (or one partition of it) that the kernel's compute driver, KFD, lists.
type gpu struct {
	ordinal      int    // among the GPUs that KFD shows this process, as ROCm counts them
	node         int    // of KFD's topology
	architecture string // such as gfx942
	uniqueID     uint64 // of the card: 0 where it has none, shared by the partitions of one card
	renderMinor  int    // N of /dev/dri/renderD<N>
}

func (g gpu) String() string {
	return fmt.Sprintf("node %d: %s, renderD%d", g.node, g.architecture, g.renderMinor)
}

// listGPUs reads what KFD lists below root, in ROCm's order. Nodes without compute units are CPUs. A node that this
// process may not read, as in a container that was given some of the GPUs, is not one of ROCm's either.
func listGPUs(root string) ([]gpu, error) {
	dir := filepath.Join(root, nodes)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, entry := range entries {
		if number, err := strconv.Atoi(entry.Name()); err == nil {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	var gpus []gpu
	for _, node := range numbers {
		path := filepath.Join(dir, strconv.Itoa(node), "properties")
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrPermission) {
			continue
		}
		if err != nil {
			return nil, err
		}
		properties, err := parseProperties(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if properties["simd_count"] == 0 {
			continue
		}
		gpus = append(gpus, gpu{
			ordinal:      len(gpus),
			node:         node,
			architecture: architectureOf(properties["gfx_target_version"]),
			uniqueID:     properties["unique_id"],
			renderMinor:  int(properties["drm_render_minor"]),
		})
	}
	return gpus, nil
}

// parseProperties reads lines of a name and a decimal number.
func parseProperties(data []byte) (map[string]uint64, error) {
	properties := map[string]uint64{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		number, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the line %q is not a name and a number", lines.Text())
		}
		properties[name] = number
	}
	return properties, lines.Err()
}

// architectureOf names KFD's gfx_target_version, which has two decimal digits each for the minor version and the
// stepping, as the compilers do, with one hexadecimal digit each: 90402 is gfx942 and 90010 is gfx90a.
func architectureOf(version uint64) string {
	return fmt.Sprintf("gfx%d%x%x", version/10000, version/100%100, version%100)
}

// unusable says why this process cannot use the GPU, nil if it can.
func (g gpu) unusable(root string) error {
	path := filepath.Join(root, "dev/dri", fmt.Sprintf("renderD%d", g.renderMinor))
	if err := unix.Access(path, unix.R_OK|unix.W_OK); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// selector is the GPU's name for ROCR_VISIBLE_DEVICES: its identity where it has one of its own, else its number.
func (g gpu) selector(all []gpu) string {
	same := 0
	for _, other := range all {
		if other.uniqueID == g.uniqueID {
			same++
		}
	}
	if g.uniqueID == 0 || same > 1 {
		return strconv.Itoa(g.ordinal)
	}
	return g.uuid()
}

func (g gpu) uuid() string {
	return fmt.Sprintf("GPU-%016x", g.uniqueID)
}

// visible is what the value of a ..._VISIBLE_DEVICES variable leaves of gpus: a list of numbers, which count within
// gpus, and identities. Like ROCm it stops at the first entry that names nothing.
func visible(gpus []gpu, value string) []gpu {
	var chosen []gpu
	for entry := range strings.SplitSeq(value, ",") {
		entry = strings.TrimSpace(entry)
		index, err := strconv.Atoi(entry)
		if err != nil {
			index = slices.IndexFunc(gpus, func(g gpu) bool { return g.uniqueID != 0 && strings.EqualFold(g.uuid(), entry) })
		}
		if index < 0 || index >= len(gpus) {
			break
		}
		chosen = append(chosen, gpus[index])
	}
	return chosen
}
