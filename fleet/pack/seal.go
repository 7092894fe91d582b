package pack

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
)

// The seal is the last 40 bytes of a bundle: a skippable frame of zstd, which other
// programs ignore, with the SHA-256 of all bytes before. It detects damage, also in
// bits that zstd ignores. A signature detects manipulation.
const sealBytes = len(sealStart) + sha256.Size

// sealStart is magic 0x184D2A5C and the length 32, both little endian.
const sealStart = "\x5C\x2A\x4D\x18\x20\x00\x00\x00"

// sealWriter writes bytes through and appends a seal.
type sealWriter struct {
	to  io.Writer
	sum hash.Hash
}

func newSealWriter(to io.Writer) *sealWriter { return &sealWriter{to, sha256.New()} }

func (w *sealWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.sum.Write(p[:n])
	return n, err
}

// finish writes the seal.
func (w *sealWriter) finish() error {
	_, err := w.to.Write(append([]byte(sealStart), w.sum.Sum(nil)...))
	return err
}

// unsealReader reads all bytes before the seal. It returns io.EOF only after a valid
// seal.
type unsealReader struct {
	from   io.Reader
	sum    hash.Hash
	held   []byte // read from the source and not returned; may have the seal
	bytes  int64  // returned
	ended  bool
	failed error
}

func newUnsealReader(from io.Reader) *unsealReader {
	return &unsealReader{from: from, sum: sha256.New()}
}

func (r *unsealReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.failed == nil {
		r.failed = r.fill(len(p))
	}
	if r.failed != nil {
		return 0, r.failed
	}
	n := copy(p, r.held[:len(r.held)-sealBytes])
	r.sum.Write(p[:n])
	r.held = r.held[n:]
	r.bytes += int64(n)
	if n == 0 && r.ended {
		r.failed = r.verifySeal()
		return 0, r.failed
	}
	return n, nil
}

// fill reads until more bytes than a seal are held, or to the end.
func (r *unsealReader) fill(want int) error {
	for !r.ended && len(r.held) <= sealBytes {
		buf := make([]byte, max(want, 32<<10))
		n, err := r.from.Read(buf)
		r.held = append(r.held, buf[:n]...)
		if errors.Is(err, io.EOF) {
			r.ended = true
		} else if err != nil {
			return err
		}
	}
	if len(r.held) < sealBytes {
		return refused("", "it ends before its seal: it was truncated, or this is no bundle")
	}
	return nil
}

// verifySeal checks the held bytes, which are the seal. It returns io.EOF or a
// *RefusedError.
func (r *unsealReader) verifySeal() error {
	if !bytes.HasPrefix(r.held, []byte(sealStart)) || !bytes.Equal(r.held[len(sealStart):], r.sum.Sum(nil)) {
		return refused("", "its seal does not match: it was damaged or truncated, or this is no bundle")
	}
	return io.EOF
}
