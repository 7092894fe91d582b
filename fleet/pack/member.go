package pack

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"strings"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// unpackFile reads one member, checks it against the manifest, and writes it to the
// staging folder if it is selected.
func (u *unpacker) unpackFile(h *tar.Header, f File, selected bool) (err error) {
	if h == nil {
		return refused(f.Path, "it is in the manifest and not in the bundle")
	}
	if err := checkHeader(h, f.Path, f.Size); err != nil {
		return err
	}
	switch {
	case !selected:
		return u.copyMember(io.Discard, f)
	case u.root == nil:
		return u.list(f)
	case f.Size <= batchBytes:
		return u.unpackSmall(f)
	case f.isDriverFile():
		return u.unpackLarge(f)
	}
	return u.unpackChecked(f)
}

// unpackSmall reads a small file, checks it, and adds it to the staging folder.
func (u *unpacker) unpackSmall(f File) error {
	data, err := u.staging.add(f.Path, int(f.Size))
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(u.archive, data); err != nil {
		return u.readError(err)
	}
	if sha256.Sum256(data) != f.SHA256 {
		return wrongChecksum(f)
	}
	return u.checkContent(f, data)
}

// unpackLarge writes a file of the driver to the staging folder while it is read.
func (u *unpacker) unpackLarge(f File) error {
	staged, err := u.staging.create(f.Path)
	if err != nil {
		return err
	}
	return errors.Join(u.copyMember(staged, f), staged.Close())
}

// unpackChecked reads a large program, source or tuning, checks it, and writes it to the
// staging folder.
func (u *unpacker) unpackChecked(f File) error {
	var content bytes.Buffer // grows with what is read, whatever size the manifest has
	if err := u.copyMember(&content, f); err != nil {
		return err
	}
	if err := u.checkContent(f, content.Bytes()); err != nil {
		return err
	}
	staged, err := u.staging.create(f.Path)
	if err != nil {
		return err
	}
	_, err = content.WriteTo(staged)
	return errors.Join(err, staged.Close())
}

// list adds the items of a file to the report.
func (u *unpacker) list(f File) error {
	var content bytes.Buffer
	to := io.Writer(&content)
	if f.isDriverFile() && !strings.HasSuffix(f.Path, ".toc") {
		to = io.Discard
	}
	err := u.copyMember(to, f)
	if err == nil {
		err = u.checkContent(f, content.Bytes())
	}
	if err != nil {
		return err
	}
	items, err := (&Manifest{Files: []File{f}}).items(func(File) ([]byte, error) { return content.Bytes(), nil })
	u.report.Items = append(u.report.Items, items...)
	return err
}

// copyMember copies the content of a member and checks its checksum.
func (u *unpacker) copyMember(to io.Writer, f File) error {
	sum, from := sha256.New(), &errorReader{r: u.archive}
	_, err := io.Copy(io.MultiWriter(to, sum), from)
	if from.err != nil {
		return u.readError(from.err)
	}
	if err != nil {
		return err
	}
	if shader.Digest(sum.Sum(nil)) != f.SHA256 {
		return wrongChecksum(f)
	}
	return nil
}

func wrongChecksum(f File) error {
	return refused(f.Path, "its checksum does not match the manifest")
}

// checkContent checks the content of a program, source or tuning: a checksum in the
// manifest does not prove that a file is valid. Drivers check theirs.
func (u *unpacker) checkContent(f File, data []byte) (err error) {
	switch f.Kind {
	case Program, Source, Tuning:
		err = binary.CheckFile(u.drivers[f.topFolder()], f.Path, data)
	}
	if errors.Is(err, binary.ErrDamaged) {
		return refused(f.Path, "%s", strings.TrimPrefix(err.Error(), binary.ErrDamaged.Error()+": "))
	}
	return err
}

// errorReader stores the error of a Read, to distinguish faults of the bundle from
// errors of writing.
type errorReader struct {
	r   io.Reader
	err error
}

func (f *errorReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// checkHeader refuses a member that is not a regular file with that name and size, as
// Export writes it.
func checkHeader(h *tar.Header, name string, size int64) error {
	switch {
	case h.Typeflag == tar.TypeLink || h.Typeflag == tar.TypeSymlink:
		return refused(h.Name, "it is a link to %q", h.Linkname)
	case h.Typeflag != tar.TypeReg:
		return refused(h.Name, "it is not a plain file")
	case h.Name != name:
		return refused(h.Name, "the manifest has another file in this place: %q", name)
	case h.Size != size:
		return refused(h.Name, "it has %d bytes, and %d in the manifest", h.Size, size)
	}
	want := memberHeader(name, size)
	if h.Mode != want.Mode || !h.ModTime.Equal(want.ModTime) || len(h.PAXRecords) > 0 || h.Uid != 0 || h.Gid != 0 ||
		h.Uname != "" || h.Gname != "" || h.Linkname != "" || h.Devmajor != 0 || h.Devminor != 0 {
		return refused(h.Name, "it has properties that Export does not write")
	}
	return nil
}

// checkSmall refuses a member that has another name, or more bytes than the limit.
func checkSmall(h *tar.Header, name string, limit int64) error {
	if h == nil {
		return refused("", "it ends before %s", name)
	}
	if err := checkHeader(h, name, h.Size); err != nil {
		return err
	}
	if h.Size > limit {
		return refused(name, "it has %d bytes, and %d are allowed", h.Size, limit)
	}
	return nil
}
