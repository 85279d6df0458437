package kernelstest

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func sample() metadata {
	return metadata{target: "amdgcn-amd-amdhsa--" + architecture, kernels: []kernel{
		{name: "first", symbol: "first.kd", argumentBytes: 280, lds: 1024, scratch: 16, lanes: 64, arguments: []argument{
			{"", "global_buffer", 0, 8}, {"count", "by_value", 8, 4}, {"", "hidden_block_count_x", 16, 4}}},
		{name: "second_with_a_name_that_is_longer_than_thirty_one_characters", symbol: "second.kd", argumentBytes: 70000, lanes: 32,
			arguments: []argument{{"", "by_value", 0, 65000}}},
		{name: "third", symbol: "third.kd", lanes: 64, arguments: []argument{}},
	}}
}

func TestParse(t *testing.T) {
	l := start(t)
	m := sample()
	for name, form := range map[string]layout{"by segment and section": usual, "by segment": {segment: true, machine: 224}, "by section": {section: true, machine: 224}} {
		t.Run(name, func(t *testing.T) {
			kernels, failure := l.parse(elf(m.note(), form), architecture)
			require.Empty(t, failure)
			require.Equal(t, m.kernels, kernels)
		})
	}
}

// What the compiler adds to the metadata, now and later, is no reason to refuse it.
func TestParseSkipsWhatItDoesNotKnow(t *testing.T) {
	var b bytes.Buffer
	encode(&b, []field{
		{"amdhsa.printf", []any{"text", nil, true, -1, -100, -100000, 1.5, 200, 70000, 1 << 40}},
		{"amdhsa.kernels", []any{append(sample().kernels[0].fields(), field{".new", []field{{"deep", []any{[]any{1}}}}})}},
	})
	kernels, failure := start(t).parse(elf(b.Bytes(), usual), architecture)
	require.Empty(t, failure)
	require.Equal(t, sample().kernels[:1], kernels)
}

// A code object of another target is refused, one that leaves a feature open is not.
func TestParseTarget(t *testing.T) {
	l := start(t)
	for _, c := range []struct {
		target, device string
		runs           bool
	}{
		{"amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "gfx942:sramecc+:xnack-", true},
		{"amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "gfx942", true},
		{"amdgcn-amd-amdhsa--gfx942", "gfx942:sramecc+:xnack-", true},
		{"amdgcn-amd-amdhsa--gfx942:xnack-", "gfx942:sramecc+:xnack-", true},
		{"amdgcn-amd-amdhsa--gfx942:xnack+", "gfx942:sramecc+:xnack-", false},
		{"amdgcn-amd-amdhsa--gfx90a", "gfx942:sramecc+:xnack-", false},
		{"amdgcn-amd-amdhsa--gfx94", "gfx942", false},
		{"", "gfx942", true}, // before version 4
		{"nonsense", "gfx942", false},
	} {
		m := sample()
		m.target = c.target
		_, failure := l.parse(elf(m.note(), usual), c.device)
		require.Equal(t, c.runs, failure == "", "%s on %s: %s", c.target, c.device, failure)
		if !c.runs {
			require.Contains(t, failure, c.device)
			require.Contains(t, failure, c.target)
		}
	}
}

func TestParseBundle(t *testing.T) {
	l := start(t)
	named := func(name, target string) []byte {
		return elf(metadata{target: "amdgcn-amd-amdhsa--" + target, kernels: []kernel{{name: name, symbol: name, lanes: 64, arguments: []argument{}}}}.note(), usual)
	}
	image := bundle(bundled{"host-x86_64-unknown-linux--", nil},
		bundled{"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", named("for_90a", "gfx90a:xnack-")},
		bundled{"hipv4-amdgcn-amd-amdhsa--gfx942", named("general", "gfx942")},
		bundled{"hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", named("special", "gfx942:sramecc+:xnack-")},
		bundled{"hip-amdgcn-amd-amdhsa-unknown-gfx1100", named("for_1100", "gfx1100")})
	for device, want := range map[string]string{"gfx942:sramecc+:xnack-": "special", "gfx942:sramecc-:xnack-": "general", "gfx90a:sramecc+:xnack-": "for_90a", "gfx1100": "for_1100"} {
		kernels, failure := l.parse(image, device)
		require.Empty(t, failure, device)
		require.Len(t, kernels, 1)
		require.Equal(t, want, kernels[0].name, device)
	}
	_, failure := l.parse(image, "gfx1201")
	require.Contains(t, failure, "gfx1201")
	require.Contains(t, failure, "gfx90a") // it says what there is
}

func TestParseRefuses(t *testing.T) {
	l := start(t)
	m := sample()
	with := func(change func(k *kernel)) []byte {
		m := sample()
		change(&m.kernels[0])
		return elf(m.note(), usual)
	}
	deep := []any{}
	for range 100 {
		deep = []any{deep}
	}
	packed := func(value any) []byte {
		var b bytes.Buffer
		encode(&b, value)
		return elf(b.Bytes(), usual)
	}
	for reason, image := range map[string][]byte{
		"there is no memory":                      {},
		"neither an ELF file":                     bytes.Repeat([]byte("no code"), 10),
		"compressed offload bundle":               append([]byte("CCOB"), make([]byte, 100)...),
		"AMD GPU (machine 62)":                    elf(m.note(), layout{segment: true, machine: 62}),
		"no note AMDGPU":                          elf(m.note(), layout{machine: 224}),
		"its metadata is no MessagePack":          elf([]byte("\xc1 no"), usual),
		"bytes follow the value":                  elf(append(m.note(), 0), usual),
		"nests too deeply":                        packed(deep),
		"no array amdhsa.kernels":                 packed([]field{{"amdhsa.kernels", 1}}),
		"kernel 0 of the metadata: .name":         with(func(k *kernel) { k.name = "" }),
		".kernarg_segment_size":                   with(func(k *kernel) { k.argumentBytes = 1 << 40 }),
		".wavefront_size":                         with(func(k *kernel) { k.lanes = 48 }),
		"argument 0 of kernel first: .offset":     with(func(k *kernel) { k.arguments[0].offset = 1000 }),
		"argument 1 of kernel first: .size":       with(func(k *kernel) { k.arguments[1].size = 1000 }),
		"argument 2 of kernel first: .value_kind": with(func(k *kernel) { k.arguments[2].kind = "" }),
	} {
		kernels, failure := l.parse(image, architecture)
		require.Contains(t, failure, reason)
		require.Empty(t, kernels)
	}
}

// The image's own headers say how long it is. One that is shorter is refused, wherever it ends.
func TestParseTruncated(t *testing.T) {
	l := start(t)
	whole := elf(sample().note(), usual)
	bundled := bundle(bundled{"hipv4-amdgcn-amd-amdhsa--gfx942", whole})
	for _, image := range [][]byte{whole, bundled} {
		step := max(1, len(image)/600)
		for n := 0; n < len(image); n += step {
			_, failure := l.parse(image[:n], architecture)
			require.NotEmpty(t, failure, "%d of %d bytes", n, len(image))
		}
		_, failure := l.parse(image, architecture)
		require.Empty(t, failure)
	}
}

// Changed bytes lead to an error or to other kernels, never to a crash: the launcher lives on, and nothing outside
// the image is touched, for it ends at a page that is not there.
func TestParseMutated(t *testing.T) {
	l := start(t)
	rng := rand.New(rand.NewPCG(1, 2))
	note := sample().note()
	whole := elf(note, usual)
	images := [][]byte{whole, bundle(bundled{"hipv4-amdgcn-amd-amdhsa--gfx942", whole})}
	refused := 0
	const rounds = 4000
	for range rounds {
		image := bytes.Clone(images[rng.IntN(len(images))])
		for range 1 + rng.IntN(4) {
			// Headers and the note's structure are where it matters; a bundle is mostly padding.
			at := rng.IntN(len(image))
			if rng.IntN(2) == 0 {
				at = rng.IntN(min(256, len(image)))
			}
			switch rng.IntN(3) {
			case 0:
				image[at] = byte(rng.Uint32())
			case 1:
				image[at] ^= 1 << rng.IntN(8)
			default:
				image[at] = []byte{0, 0xff, 0x7f, 0x80}[rng.IntN(4)]
			}
		}
		if rng.IntN(4) == 0 {
			image = image[:rng.IntN(len(image))]
		}
		if _, failure := l.parse(image, architecture); failure != "" {
			refused++
		}
	}
	require.Greater(t, refused, rounds/4)
	require.Less(t, refused, rounds)
	kernels, failure := l.parse(whole, architecture)
	require.Empty(t, failure)
	require.Equal(t, sample().kernels, kernels)
}
