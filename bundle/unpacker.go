package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// The staging folders of an import, below the cache directory. The bundle is unpacked
// into new. The rename from new to ready commits the import.
const (
	stagingName  = ".import"
	stagingNew   = ".import/new"
	stagingReady = ".import/ready"
)

// windowBytes is the largest window size of the compression that is read. It limits the
// memory of a reader.
const windowBytes = 8 << 20

// unpacker reads one bundle into the staging folder.
type unpacker struct {
	options ImportOptions
	root    *os.Root // the cache directory

	input    *unsealReader
	output   *ratioReader // decompressed
	archive  *tar.Reader
	signed   bool
	verified bool // with VerifyKey
	skipped  []Fingerprint

	untrustedPrograms, untrustedDriverFiles int // left out for lack of trust

	withoutCode []string // directories with programs and no machine code
	items       []Item   // of the selected files

	drivers    map[string]shader.Digest // of the selected fingerprints, by their directories
	folder     *os.Root                 // the open folder of the staging folder
	folderName string
	content    bytes.Buffer // of the file that is checked
}

// maxContentBytes is the size of a file above which its memory is not used for the next.
const maxContentBytes = 1 << 20

// run unpacks and checks the bundle, and commits it by the rename to stagingReady. It
// returns the manifest of what is there.
func (u *unpacker) run(r io.Reader) (*Manifest, error) {
	if err := u.root.RemoveAll(stagingName); err != nil {
		return nil, err
	}
	defer u.closeFolder()
	u.input = newUnsealReader(r)
	z, err := zstd.NewReader(u.input,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(windowBytes))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	u.output = &ratioReader{from: z, input: u.input}
	u.archive = tar.NewReader(u.output)
	m, err := u.unpackMembers()
	if err == nil {
		err = u.checkEnd()
	}
	if err != nil {
		return nil, err
	}
	selected := u.selectPart(m)
	u.items, err = selected.items(func(name string) ([]byte, error) {
		return u.root.ReadFile(path.Join(stagingNew, name))
	})
	if err != nil {
		return nil, err
	}
	data, err := selected.encode()
	if err != nil {
		return nil, err
	}
	if err := u.root.WriteFile(path.Join(stagingNew, manifestName), data, 0o600); err != nil {
		return nil, err
	}
	u.closeFolder()
	if err := u.sync(selected); err != nil {
		return nil, err
	}
	return selected, u.root.Rename(stagingNew, stagingReady)
}

// sync has the files reach the disk: after a power cut, files that were renamed and not
// synced are empty. Of an import that a start waits for that is done for NVIDIA's slots
// only: all other files are checked when they are read.
func (u *unpacker) sync(m *Manifest) error {
	if !u.options.Unrecorded {
		return osfile.SyncVolume(filepath.Join(u.root.Name(), stagingNew))
	}
	for _, f := range m.Files {
		if f.Kind != NVIDIA {
			continue
		}
		staged, err := u.root.Open(path.Join(stagingNew, f.Path))
		if err != nil {
			return err
		}
		if err := errors.Join(staged.Sync(), staged.Close()); err != nil {
			return err
		}
	}
	return nil
}

// unpackMembers reads all members, and writes the selected ones to the staging folder.
func (u *unpacker) unpackMembers() (*Manifest, error) {
	m, next, err := u.readManifest()
	if err != nil {
		return nil, err
	}
	if total := m.bytes(); total > u.options.MaxBytes {
		reason := fmt.Sprintf("it unpacks to %d bytes, and the limit is %d", total, u.options.MaxBytes)
		return nil, &RefusedError{Reason: reason, kind: ErrTooLarge}
	}
	if err := u.root.MkdirAll(stagingNew, 0o700); err != nil {
		return nil, err
	}
	selected, part := map[string]bool{}, u.selectPart(m)
	for _, f := range part.Files {
		selected[f.Path] = true
	}
	u.drivers = map[string]shader.Digest{}
	for _, f := range part.Fingerprints {
		u.drivers[f.Dir] = f.Digest
	}
	total, done := m.bytes(), int64(0)
	for i, f := range m.Files {
		if i > 0 {
			next, err = u.next()
		}
		if err == nil {
			err = u.unpackFile(next, f, selected[f.Path])
		}
		if err != nil {
			return nil, err
		}
		if done += f.Size; u.options.Progress != nil {
			u.options.Progress(done, total)
		}
	}
	return m, nil
}

// readManifest reads the manifest and the signature, if there is one. It also returns
// the header of the next member, nil at the end.
func (u *unpacker) readManifest() (*Manifest, *tar.Header, error) {
	h, err := u.next()
	if err != nil {
		return nil, nil, err
	}
	if err := checkSmall(h, manifestName, maxManifestBytes); err != nil {
		return nil, nil, err
	}
	data, err := u.readManifestBytes()
	if err != nil {
		return nil, nil, err
	}
	if h, err = u.next(); err != nil {
		return nil, nil, err
	}
	var signature []byte
	if h != nil && h.Name == signatureName {
		if signature, err = u.readSignature(h); err != nil {
			return nil, nil, err
		}
		if h, err = u.next(); err != nil {
			return nil, nil, err
		}
	}
	if err := u.checkSignature(data, signature); err != nil {
		return nil, nil, err
	}
	m, err := decodeManifest(data)
	if err == nil {
		err = u.options.Expect.checkManifest(m)
	}
	if err == nil && len(m.Files) == 0 && h != nil {
		err = refused(h.Name, "it is not in the manifest")
	}
	return m, h, err
}

// checkSignature checks the signature, before the manifest is used.
func (u *unpacker) checkSignature(manifest, signature []byte) error {
	u.signed = signature != nil
	switch {
	case u.options.VerifyKey == nil:
		return nil
	case !u.signed:
		return fmt.Errorf("%w, and a key was given: export it with the private key, or import it without a key", ErrUnsigned)
	case !verify(u.options.VerifyKey, manifest, signature):
		return fmt.Errorf("%w: it was signed with another key, or changed since", ErrSignature)
	}
	u.verified = true
	return nil
}

// trust returns the reason for importing native code.
func (u *unpacker) trust() Trust {
	switch {
	case u.verified:
		return TrustSignature
	case u.options.Expect != nil:
		return TrustDigest
	case u.options.Trust:
		return TrustCaller
	}
	return TrustNone
}

// next returns the header of the next member, nil at the end.
func (u *unpacker) next() (*tar.Header, error) {
	h, err := u.archive.Next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, u.readError(err)
	}
	return h, nil
}

// checkEnd checks that only the seal follows the archive, and that the seal is valid.
func (u *unpacker) checkEnd() error {
	h, err := u.next()
	if err != nil {
		return err
	}
	if h != nil {
		return refused(h.Name, "it is not in the manifest")
	}
	var one [1]byte
	if n, err := io.ReadFull(u.output, one[:]); n > 0 {
		return refused("", "something follows the end of the archive")
	} else if !errors.Is(err, io.EOF) {
		return u.readError(err)
	}
	// The decompressor may stop before it has read the end of its input.
	if n, err := io.Copy(io.Discard, u.input); err != nil {
		return u.readError(err)
	} else if n > 0 {
		return refused("", "something follows the compressed archive")
	}
	return nil
}

// readError returns the meaning of an error of the archive or the decompressor: the
// error of the input, if it failed, else a *RefusedError.
func (u *unpacker) readError(err error) error {
	if cause := u.input.failed; cause != nil && !errors.Is(cause, io.EOF) {
		return cause
	}
	if u.output.err != nil {
		return u.output.err
	}
	return refused("", "it cannot be unpacked: %v", err)
}

// readSignature returns the content of the member with the signature.
func (u *unpacker) readSignature(h *tar.Header) ([]byte, error) {
	if err := checkSmall(h, signatureName, ed25519.SignatureSize); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(u.archive)
	if err != nil {
		return nil, u.readError(err)
	}
	return data, nil
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

// unpackFile reads one member, checks it against the manifest, and writes it to the
// staging folder if it is selected.
func (u *unpacker) unpackFile(h *tar.Header, f File, selected bool) (err error) {
	if h == nil {
		return refused(f.Path, "it is in the manifest and not in the bundle")
	}
	if err := checkHeader(h, f.Path, f.Size); err != nil {
		return err
	}
	if selected && !f.isDriverFile() {
		return u.unpackChecked(f)
	}
	to := io.Discard
	if selected {
		staged, err := u.create(f.Path)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, staged.Close()) }()
		to = staged
	}
	return u.copyMember(to, f)
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
		return refused(f.Path, "its checksum does not match the manifest")
	}
	return nil
}

// unpackChecked reads a program, source or tuning, checks it, and writes it to the staging
// folder: a checksum in the manifest does not prove that a file is valid.
func (u *unpacker) unpackChecked(f File) error {
	u.content.Reset()
	if err := u.copyMember(&u.content, f); err != nil {
		return err
	}
	data := u.content.Bytes()
	if u.content.Cap() > maxContentBytes {
		u.content = bytes.Buffer{}
	}
	if err := u.checkContent(f, data); err != nil {
		if bad, ok := errors.AsType[*binary.DamagedError](err); ok {
			return refused(f.Path, "%s", bad.Reason)
		}
		return err
	}
	staged, err := u.create(f.Path)
	if err != nil {
		return err
	}
	_, err = staged.Write(data)
	return errors.Join(err, staged.Close())
}

// checkContent checks the content of a program, source or tuning.
func (u *unpacker) checkContent(f File, data []byte) error {
	switch f.Kind {
	case Program:
		return binary.CheckBlob(u.drivers[f.topFolder()], f.key(), data)
	case Source:
		return binary.CheckSource(f.key(), data)
	default:
		return binary.CheckTuning(u.drivers[f.topFolder()], path.Base(f.Path), data)
	}
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

// create creates a file of the bundle in the staging folder. It keeps the file's folder
// open for the next file, which is mostly there: each folder of a path costs two system
// calls otherwise.
func (u *unpacker) create(name string) (*os.File, error) {
	if folder := path.Join(stagingNew, path.Dir(name)); folder != u.folderName {
		u.closeFolder()
		if err := u.root.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		opened, err := u.root.OpenRoot(folder)
		if err != nil {
			return nil, err
		}
		u.folder, u.folderName = opened, folder
	}
	return u.folder.OpenFile(path.Base(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// closeFolder closes the folder that create keeps open.
func (u *unpacker) closeFolder() {
	if u.folder != nil {
		_ = u.folder.Close()
	}
	u.folder, u.folderName = nil, ""
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

// selectPart returns the part of a manifest that the options select and trust. It sets
// u.skipped to the other fingerprints, and counts the selected files that are not trusted.
func (u *unpacker) selectPart(m *Manifest) *Manifest {
	part := &Manifest{Schema: m.Schema, Created: m.Created, Fingerprints: []Fingerprint{}, Files: []File{}}
	dirs, kinds, others := map[string]bool{}, map[Kind]bool{Source: true}, map[Kind]bool{}
	u.skipped, u.untrustedPrograms, u.untrustedDriverFiles = nil, 0, 0
	code := map[string]bool{} // the directories of which the programs are native code
	for _, f := range m.Fingerprints {
		kind := driverKind(f.Fingerprint)
		if u.options.AnyDriver || f.Digest == u.options.Current.Digest() {
			part.Fingerprints = append(part.Fingerprints, f)
			dirs[f.Dir], kinds[kind], code[f.Dir] = true, true, binariesAreCode(f.Fingerprint)
		} else {
			u.skipped = append(u.skipped, f)
			others[kind] = true
		}
	}
	// Machine code without a program of its driver comes from programs that use only
	// layer two. The driver checks it.
	for _, kind := range []Kind{NVIDIA, Mesa} {
		if u.options.AnyDriver || driverKind(*u.options.Current) == kind && !others[kind] {
			kinds[kind] = true
		}
	}
	for _, f := range m.Files {
		selected := f.ofDriver() && dirs[f.topFolder()] || !f.ofDriver() && kinds[f.Kind]
		switch {
		case !selected:
		case u.trust() != TrustNone:
			part.Files = append(part.Files, f)
		case f.isDriverFile():
			u.untrustedDriverFiles++
		case f.Kind == Program && code[f.topFolder()]:
			u.untrustedPrograms++
		default:
			part.Files = append(part.Files, f)
		}
	}
	u.withoutCode = part.withoutMachineCode()
	return part
}
