package elf_test

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/shim/elf"
)

// largeObject is a fixture with size bytes of content that is not loaded, as
// debug information is, between its last PT_LOAD and its section headers.
func largeObject(b *testing.B, size int64) string {
	b.Helper()
	content := read(b, fixture("bfd-both"))
	shoff := le.Uint64(content[40:])
	headers := content[shoff:]
	size = size &^ 7
	le.PutUint64(content[40:], shoff+uint64(size))

	path := filepath.Join(b.TempDir(), "large.so")
	f, err := os.Create(path)
	require.NoError(b, err)
	_, err = f.Write(content[:shoff])
	require.NoError(b, err)
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i*i>>3 + 1)
	}
	for rest := size; rest > 0; rest -= int64(len(block)) {
		_, err = f.Write(block[:min(rest, int64(len(block)))])
		require.NoError(b, err)
	}
	_, err = f.Write(headers)
	require.NoError(b, err)
	require.NoError(b, f.Close())
	return path
}

// BenchmarkRewrite compares a rewrite with a plain copy of the same file.
// BENCH_MIB is the file's size in MiB.
func BenchmarkRewrite(b *testing.B) {
	mib := int64(64)
	if s := os.Getenv("BENCH_MIB"); s != "" {
		var err error
		mib, err = strconv.ParseInt(s, 10, 64)
		require.NoError(b, err, "BENCH_MIB")
	}
	src := largeObject(b, mib<<20)
	dst := filepath.Join(b.TempDir(), "out.so")
	e := elf.Edit{Rename: renameAll(b, src), SONAME: "libprivate.so.1", RunPath: pointer("$ORIGIN")}

	b.Run("copy", func(b *testing.B) {
		b.SetBytes(mib << 20)
		for b.Loop() {
			in, err := os.Open(src)
			require.NoError(b, err)
			out, err := os.Create(dst)
			require.NoError(b, err)
			_, err = io.Copy(out, in)
			require.NoError(b, err)
			require.NoError(b, in.Close())
			require.NoError(b, out.Close())
			require.NoError(b, os.Remove(dst))
		}
	})
	b.Run("rewrite", func(b *testing.B) {
		b.SetBytes(mib << 20)
		b.ReportAllocs()
		for b.Loop() {
			_, err := elf.Rewrite(src, dst, e)
			require.NoError(b, err)
			require.NoError(b, os.Remove(dst))
		}
	})
}
