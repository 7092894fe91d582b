package pack

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"

	"github.com/shadercache/shadercache/shader"
)

// Expected are properties of a bundle. An import of any other bundle is refused with a
// *RefusedError, and has no effect. They are a reason for importing native code: see
// TrustDigest.
type Expected struct {
	SHA256      shader.Digest // of all bytes
	Size        int64         // bytes
	Fingerprint shader.Digest // the only driver
}

// check returns a reader of r that returns io.EOF only after bytes of the expected size
// and digest. It reads one byte more than expected at most. A nil Expected returns r.
func (e *Expected) check(r io.Reader) io.Reader {
	if e == nil {
		return r
	}
	return &expectingReader{from: r, expected: e, sum: sha256.New(), left: e.Size}
}

// checkManifest refuses a manifest of another driver, or of several.
func (e *Expected) checkManifest(m *Manifest) error {
	if e == nil {
		return nil
	}
	for _, f := range m.Fingerprints {
		if f.Digest != e.Fingerprint {
			return refused(manifestName, "it has programs of driver %s, and %s is expected", f.Digest.Short(), e.Fingerprint.Short())
		}
	}
	if len(m.Fingerprints) == 0 {
		return refused(manifestName, "it names no driver")
	}
	return nil
}

// expectingReader reads a bundle of a known size and digest.
type expectingReader struct {
	from     io.Reader
	expected *Expected
	sum      hash.Hash
	left     int64
	failed   error
}

func (r *expectingReader) Read(p []byte) (int, error) {
	if r.failed != nil {
		return 0, r.failed
	}
	if r.left == 0 {
		r.failed = r.checkEnd()
		return 0, r.failed
	}
	n, err := r.from.Read(p[:min(int64(len(p)), r.left)])
	r.sum.Write(p[:n])
	r.left -= int64(n)
	if errors.Is(err, io.EOF) && r.left > 0 {
		err = refused("", "it ends after %d bytes, and %d are expected", r.expected.Size-r.left, r.expected.Size)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
		return n, err
	}
	return n, nil
}

// checkEnd returns io.EOF if nothing follows, and the digest is the expected one.
func (r *expectingReader) checkEnd() error {
	var one [1]byte
	switch n, err := io.ReadFull(r.from, one[:]); {
	case n > 0:
		return refused("", "it has more than the expected %d bytes", r.expected.Size)
	case !errors.Is(err, io.EOF):
		return err
	case shader.Digest(r.sum.Sum(nil)) != r.expected.SHA256:
		return refused("", "its digest is %s, and %s is expected", shader.Digest(r.sum.Sum(nil)).Short(), r.expected.SHA256.Short())
	}
	return io.EOF
}
