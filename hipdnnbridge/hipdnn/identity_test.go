package hipdnn_test

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/hipdnn"
	"example.com/miopen_hipdnn_shim/tests/runfile"
	"example.com/miopen_hipdnn_shim/tests/workshop"
)

// buildID reads a file's build-id as readers of files do, and returns it as Builds words it.
func buildID(t *testing.T, path string) string {
	t.Helper()
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	section := file.Section(".note.gnu.build-id")
	require.NotNil(t, section, path)
	note, err := section.Data()
	require.NoError(t, err)
	_, id, found := bytes.Cut(note, []byte("GNU\x00"))
	require.True(t, found)
	return fmt.Sprintf("build-id %x", id)
}

// build is the line of one library.
func build(file string) (string, error) {
	lines, err := hipdnn.Builds(file)
	line, _, _ := strings.Cut(lines, "\n")
	return line, err
}

// A library's build is the build-id that it has in memory, whatever has become of its file since; a library
// that is not loaded is known by its file, which is another one when it was written anew.
func TestBuild(t *testing.T) {
	b := backend(t)
	id, err := build(b.Path)
	require.NoError(t, err)
	require.Equal(t, buildID(t, b.Path), id)

	link := filepath.Join(t.TempDir(), "link.so")
	require.NoError(t, os.Symlink(b.Path, link))
	same, err := build(link)
	require.NoError(t, err)
	require.Equal(t, id, same, "the same file by another name")

	other := filepath.Join(t.TempDir(), "other.so")
	content, err := os.ReadFile(b.Path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(other, content, 0o600))
	first, err := build(other)
	require.NoError(t, err)
	require.Contains(t, first, fmt.Sprintf(" of %d bytes", len(content)))
	again, err := build(other)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.NoError(t, os.WriteFile(other, content[:100], 0o600))
	second, err := build(other)
	require.NoError(t, err)
	require.NotEqual(t, first, second)

	_, err = build(filepath.Join(t.TempDir(), "nothing.so"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// inProcess runs this test in another process, which says something with say, and returns that.
func inProcess(t *testing.T, environment ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), environment...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	said := regexp.MustCompile(`(?m)^said (".*")$`).FindSubmatch(out)
	require.NotNil(t, said, "%s", out)
	text, err := strconv.Unquote(string(said[1]))
	require.NoError(t, err)
	return text
}

func say(text string) { fmt.Printf("\nsaid %q\n", text) }

// builds is what Builds says of one library of that build-id which depends on those, sorted.
func builds(id string, needed ...string) string {
	return fmt.Sprintf("build-id %s\n%d libraries that these need %x", id, len(needed), sha256.Sum256([]byte(strings.Join(needed, "\n"))))
}

// Builds has all that a library depends on, down to the last of a chain that comes back to those before it.
func TestBuilds(t *testing.T) {
	if library := os.Getenv("BUILDS_OF"); library != "" {
		for _, file := range strings.Fields(os.Getenv("BUILDS_WITHOUT")) {
			require.NoError(t, os.Remove(file))
		}
		said, err := hipdnn.Builds(library)
		require.NoError(t, err)
		say(said)
		return
	}
	dir := t.TempDir()
	link := func(file, id string, needs ...string) string {
		t.Helper()
		path := filepath.Join(dir, file)
		arguments := []string{"-shared", "-nostdlib", "-x", "c", os.DevNull, "-x", "none", "-o", path, "-Wl,--build-id=" + id, "-Wl,-soname," + file, "-Wl,--no-as-needed"}
		workshop.Run(t, workshop.CC(), append(arguments, needs...)...)
		return path
	}
	first := link("libfirst.so", "0x11111111")
	second := link("libsecond.so.2", "0x22222222")
	third := link("libthird.so", "0x33333333", second, first)
	link("libsecond.so.2", "0x22222222", third)
	link("libfirst.so", "0x11111111", second)
	of := func(environment ...string) string {
		t.Helper()
		return inProcess(t, append([]string{"BUILDS_OF=" + first, "LD_LIBRARY_PATH=" + dir, "LD_PRELOAD=" + first}, environment...)...)
	}
	require.Equal(t, builds("11111111", "libsecond.so.2 build-id 22222222", "libthird.so build-id 33333333"), of())

	other := link("other.so", "0x44444444", "-Wl,-soname,"+strings.Repeat("long", 20000))
	require.Equal(t, of(), of("LD_PRELOAD="+first+":"+other), "nobody depends on it")
	renamed := link("renamed.so", "0x55555555", "-Wl,-soname,libsecond.so.2")
	require.Equal(t, builds("11111111", "libsecond.so.2 build-id 55555555"), of("LD_PRELOAD="+renamed+":"+first), "the SONAME counts")

	link("libthird.so", "0xcccccccc", second, first)
	require.Equal(t, builds("11111111", "libsecond.so.2 build-id 22222222", "libthird.so build-id cccccccc"), of())
	require.Equal(t, builds("11111111", "libsecond.so.2 build-id 22222222", "libthird.so build-id cccccccc"), of("BUILDS_WITHOUT="+third),
		"what is loaded counts")

	link("libthird.so", "none", second, first)
	file, err := build(third)
	require.NoError(t, err)
	require.Equal(t, builds("11111111", "libsecond.so.2 build-id 22222222", "libthird.so "+file), of())
	require.Equal(t, builds("11111111", "libsecond.so.2 build-id 22222222", "libthird.so"), of("BUILDS_WITHOUT="+third))

	_, err = hipdnn.Builds(first, filepath.Join(dir, "nothing.so"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A handle's identity has the backend, each plugin that it loaded and the files that it is asked for; with
// one more it is another.
func TestIdentity(t *testing.T) {
	b, d := backend(t), device(t)
	identity := func(files ...string) string {
		h, err := b.NewHandle(d, 0, 0)
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close()) }()
		s, err := h.Identity(files...)
		require.NoError(t, err)
		return s
	}
	has := func(identity string, files ...string) {
		t.Helper()
		lines := strings.Split(identity, "\n")
		want := []string{"hipDNN " + b.Version}
		for _, file := range files {
			want = append(want, buildID(t, file))
		}
		require.Equal(t, want, lines[:len(lines)-1])
		require.Regexp(t, `^[1-9]\d* libraries that these need [0-9a-f]{64}$`, lines[len(lines)-1], "libc at least")
	}
	without := identity()
	require.Equal(t, without, identity())
	has(without, b.Path)
	has(identity(b.Path), b.Path, b.Path)

	plugin, err := runfile.Path("TESTPLUGIN")
	if err != nil {
		t.Skip("no plugin: Bazel names one in TESTPLUGIN")
	}
	require.NoError(t, b.AddPlugin(plugin))
	has(identity(), b.Path, plugin)
}

// The host is a device of its own.
func TestDeviceIdentity(t *testing.T) {
	name, err := device(t).Identity(0)
	require.NoError(t, err)
	require.Equal(t, "the host", name)
}

// addresses is a HIP run time whose device properties have addresses of the process in them, as those of
// devices that sit on a bus do: hdpMemFlushCntl and hdpRegFlushCntl. The simulated one has none.
const addresses = `
#define _GNU_SOURCE
#include <dlfcn.h>

int hipGetDevicePropertiesR0600(void **properties, int device) {
  int (*next)(void **, int) = (int (*)(void **, int))dlsym(RTLD_NEXT, "hipGetDevicePropertiesR0600");
  int error = next(properties, device);
  properties[1432 / sizeof(void *)] = properties[1440 / sizeof(void *)] = (void *)next;
  return error;
}
`

// A HIP device's identity is the same in each process, and another one for what runs other code.
func TestHIPDeviceIdentity(t *testing.T) {
	if runtime := os.Getenv("IDENTITY_ON"); runtime != "" {
		device, err := strconv.Atoi(os.Getenv("IDENTITY_OF"))
		require.NoError(t, err)
		d, err := hipdnn.OpenDevice(runtime)
		require.NoError(t, err)
		identity, err := d.Identity(device)
		if err != nil {
			identity = err.Error()
		}
		say(identity)
		return
	}
	library, err := runfile.Path("SIMHIP")
	if err != nil {
		t.Skip("no simulated HIP: Bazel names tests/simhip's library in SIMHIP")
	}
	dir := t.TempDir()
	source, runtime := filepath.Join(dir, "addresses.c"), filepath.Join(dir, "libaddresses.so")
	require.NoError(t, os.WriteFile(source, []byte(addresses), 0o600))
	workshop.Run(t, workshop.CC(), "-shared", "-fPIC", source, "-o", runtime, "-Wl,--no-as-needed", library, "-Wl,-rpath,"+filepath.Dir(library))
	of := func(environment ...string) string {
		t.Helper()
		return inProcess(t, append([]string{"LD_PRELOAD=" + runtime, "IDENTITY_ON=" + runtime, "SIMHIP_DEVICES=2", "IDENTITY_OF=0"}, environment...)...)
	}
	plain := of()
	require.Equal(t, plain, of())
	require.Regexp(t, `^\S.* [0-9a-f]{32}, gfx942:sramecc\+:xnack-, 304 compute units, 206158430208 bytes, HIP \d+$`, plain)

	different := map[string]string{plain: "plain"}
	for _, setting := range []string{"IDENTITY_OF=1", "SIMHIP_CU=38", "SIMHIP_MEMORY=1G", "SIMHIP_ARCH=gfx942:sramecc+:xnack+", "SIMHIP_ARCH=gfx90a:sramecc+:xnack-"} {
		identity := of(setting)
		require.NotContains(t, different, identity, setting)
		different[identity] = setting
	}

	for _, function := range []string{"hipGetDevicePropertiesR0600", "hipRuntimeGetVersion"} {
		require.Contains(t, of("SIMHIP_FAIL="+function+":1=hipErrorUnknown"), function+": error ")
	}
	require.Contains(t, of("IDENTITY_OF=2"), "hipGetDevicePropertiesR0600: error ")
}
