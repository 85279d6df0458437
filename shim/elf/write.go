package elf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// input is the open source file, and its state when it was opened.
type input struct {
	file *os.File
	info fs.FileInfo
	path string
}

func openInput(src, dst string) (*input, error) {
	// Before it is opened: opening a FIFO would wait for a writer.
	info, err := os.Stat(src)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &FormatError{Path: src, Offset: -1, What: "file", Msg: fmt.Sprintf("is not a regular file (%v)", info.Mode().Type())}
	}
	if out, err := os.Stat(dst); err == nil {
		if os.SameFile(info, out) {
			return nil, &EditError{Path: src, What: "output", Msg: dst + " is the same file; the input is never overwritten, choose another name"}
		}
		if out.IsDir() {
			return nil, &EditError{Path: src, What: "output", Msg: dst + " is a folder; name a file"}
		}
	}
	f, err := os.Open(src)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &input{file: f, info: info, path: src}, nil
}

func (in *input) close() { _ = in.file.Close() } // opened for reading: nothing can be lost

func (in *input) source() *source {
	return &source{r: in.file, path: in.path, size: uint64(in.info.Size())}
}

// unchanged fails when the file was written to since it was opened: tables
// and copy would then not belong together.
func (in *input) unchanged() error {
	now, err := in.file.Stat()
	if err != nil {
		return err
	}
	if now.Size() != in.info.Size() || !now.ModTime().Equal(in.info.ModTime()) {
		return fmt.Errorf("%s: changed while it was read; try again when nothing writes to it", in.path)
	}
	return nil
}

// write makes the output: a copy of the input with the tail of the last
// PT_LOAD inserted and the patches written on top. There is no fsync, as with
// cp and linkers: what is made from an input can be made again.
func (p *plan) write(in *input, dst string) (err error) {
	out, err := os.CreateTemp(filepath.Dir(dst), "."+filepath.Base(dst)+".*")
	if err != nil {
		return fmt.Errorf("creating %s: %w", dst, err)
	}
	closed := false
	defer func() {
		if err != nil {
			if !closed {
				_ = out.Close()
			}
			_ = os.Remove(out.Name())
			err = fmt.Errorf("writing %s: %w", dst, err)
		}
	}()
	if err := p.copyInput(out, in); err != nil {
		return err
	}
	for _, c := range p.patches {
		if _, err := out.WriteAt(c.data, int64(c.off)); err != nil {
			return err
		}
	}
	if err := p.writeRelocations(out, in); err != nil {
		return err
	}
	if err := in.unchanged(); err != nil {
		return err
	}
	if err := out.Chmod(in.info.Mode().Perm()); err != nil {
		return err
	}
	closed = true
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), dst)
}

// copyInput copies the file in the two pieces around the growth, and leaves a
// hole between them: zeros, as .bss and padding have to be. Copies from file
// to file are the kernel's (copy_file_range), where it can.
func (p *plan) copyInput(out *os.File, in *input) error {
	copyRange := func(from, size, to uint64) error {
		if _, err := in.file.Seek(int64(from), io.SeekStart); err != nil {
			return err
		}
		if _, err := out.Seek(int64(to), io.SeekStart); err != nil {
			return err
		}
		n, err := io.Copy(out, io.LimitReader(in.file, int64(size)))
		if err == nil && uint64(n) < size {
			err = fmt.Errorf("%s: %w after %d of %d bytes at file offset %#x", in.path, io.ErrUnexpectedEOF, n, size, from)
		}
		return err
	}
	size := uint64(in.info.Size())
	if err := out.Truncate(int64(size + p.shift)); err != nil {
		return err
	}
	if err := copyRange(0, p.insert, 0); err != nil {
		return err
	}
	return copyRange(p.insert, size-p.insert, p.insert+p.shift)
}

// writeRelocations renumbers the symbols of relocations, run by run.
func (p *plan) writeRelocations(out *os.File, in *input) error {
	if p.newIndex == nil {
		return nil
	}
	return p.rel.each(in.source(), func(off uint64, chunk []byte) error {
		n := renumber(chunk, p.newIndex)
		if n == 0 {
			return nil
		}
		p.result.Relocations += n
		_, err := out.WriteAt(chunk, int64(off))
		return err
	})
}
