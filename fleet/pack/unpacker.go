package pack

import (
	"archive/tar"
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// windowBytes is the largest window size of the compression that is read. It limits the
// memory of a reader.
const windowBytes = 8 << 20

// unpacker reads one bundle into the staging folder.
type unpacker struct {
	options ImportOptions
	root    *os.Root // the cache directory; nil: what is selected is only listed

	input   *unsealReader
	output  *ratioReader // decompressed
	archive *tar.Reader
	report  ImportReport // without what installing adds

	drivers map[string]shader.Digest // of the selected fingerprints, by their directories
	staging *staging
}

// run unpacks and checks the bundle, and commits it by the rename to stagingReady. It
// returns the manifest of what is there.
func (u *unpacker) run(r io.Reader) (*Manifest, error) {
	if err := u.root.RemoveAll(stagingName); err != nil {
		return nil, err
	}
	selected, err := u.read(r)
	if err != nil {
		return nil, err
	}
	return selected, u.commit(selected)
}

// read unpacks and checks the bundle, and returns its part that is selected.
func (u *unpacker) read(r io.Reader) (selected *Manifest, err error) {
	u.input = newUnsealReader(r)
	z, err := zstd.NewReader(u.input,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(windowBytes))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	u.output = &ratioReader{from: z, input: u.input, ratio: unpackedRatio, slack: unpackedSlack}
	u.archive = tar.NewReader(u.output)
	m, first, err := u.readManifest()
	if err != nil {
		return nil, err
	}
	if total := m.bytes(); total > u.options.MaxBytes {
		reason := fmt.Sprintf("it unpacks to %d bytes, and the limit is %d", total, u.options.MaxBytes)
		return nil, &RefusedError{Reason: reason, kind: ErrTooLarge}
	}
	if u.root != nil {
		if u.staging, err = newStaging(u.root); err != nil {
			return nil, err
		}
		defer func() { err = cmp.Or(err, u.staging.finish()) }()
	}
	selected = u.selectPart(m)
	if err = u.unpackMembers(m, first, selected); err == nil {
		err = u.checkEnd()
	}
	return selected, err
}

// commit completes the staging folder and renames it.
func (u *unpacker) commit(selected *Manifest) (err error) {
	u.report.Items, err = selected.items(func(f File) ([]byte, error) {
		return u.root.ReadFile(path.Join(stagingNew, f.Path))
	})
	if err != nil {
		return err
	}
	data, err := selected.encode()
	if err != nil {
		return err
	}
	if err := u.root.WriteFile(path.Join(stagingNew, manifestName), data, 0o600); err != nil {
		return err
	}
	if err := u.sync(selected); err != nil {
		return err
	}
	return u.root.Rename(stagingNew, stagingReady)
}

// sync has the files reach the disk: after a power cut, files that were renamed and not
// synced are empty. Of an import that a start waits for that is done for NVIDIA's slots
// only, which are merged at once: the start does it for all files later.
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
func (u *unpacker) unpackMembers(m *Manifest, next *tar.Header, part *Manifest) (err error) {
	selected := map[string]bool{}
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
			return err
		}
		if done += f.Size; u.options.Progress != nil {
			u.options.Progress(done, total)
		}
	}
	return nil
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
	data, err := io.ReadAll(&ratioReader{from: u.archive, input: u.input, member: manifestName, ratio: manifestRatio, slack: manifestSlack})
	if err != nil {
		return nil, nil, u.readError(err)
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
	u.report.Signed = signature != nil
	switch {
	case u.options.VerifyKey == nil:
		return nil
	case !u.report.Signed:
		return fmt.Errorf("%w, and a key was given: export it with the private key, or import it without a key", ErrUnsigned)
	case !verify(u.options.VerifyKey, manifest, signature):
		return fmt.Errorf("%w: it was signed with another key, or changed since", ErrSignature)
	}
	u.report.Verified = true
	return nil
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
	if errors.Is(err, ErrRefused) { // by a ratioReader
		return err
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
