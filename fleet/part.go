package fleet

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/shader"
)

// partExt is the extension of a file with the first bytes of a pack whose fetch ended
// early. The next fetch continues there, so that processes that are shorter than a fetch
// have the pack in the end. The digest of the whole pack is checked as always.
const partExt = ".part"

// maxPartBytes is the size of a pack above which its bytes are not kept.
const maxPartBytes = 256 << 20

// partialBody is a pack that is read: first what is kept of it, then what the store sends,
// which it keeps.
type partialBody struct {
	body io.ReadCloser // of the store; nil: all is kept
	path string        // "": nothing is kept
	file *os.File      // nil: there is none yet
	left int64         // kept bytes that were not read yet

	resumed int64 // kept bytes
}

// openKept opens a pack, and continues a fetch that ended early.
func (r *Remote) openKept(ctx context.Context, of shader.Digest, p Pack) (*partialBody, error) {
	b := r.state.openPart(of, p)
	if b.resumed == 0 {
		body, err := r.openPack(ctx, of, p)
		b.body = body
		return b, err
	}
	if b.resumed == p.Size {
		return b, nil
	}
	object, err := r.backend.Get(ctx, packName(of, p.SHA256), b.resumed)
	if err == nil && object.Size >= 0 && object.Size != p.Size {
		err = errors.Join(ErrProtocol, object.Body.Close())
	}
	if err == nil {
		b.body = object.Body
		return b, nil
	}
	// A firewall may answer to ranges alone with any status.
	if _, busy := errors.AsType[*BusyError](err); !busy && ctx.Err() == nil {
		if body, err := r.openPack(ctx, of, p); err == nil {
			b.discard() // where it cannot be deleted, the next process tries again
			b.resumed, b.left, b.body = 0, 0, body
			return b, nil
		}
	}
	return nil, errors.Join(err, b.Close())
}

func (d stateDir) partPath(of shader.Digest, p Pack) string {
	return filepath.Join(d.path, of.String(), p.SHA256.String()+partExt)
}

// openPart returns a body with what is kept of a pack.
func (d stateDir) openPart(of shader.Digest, p Pack) *partialBody {
	if p.Size > maxPartBytes {
		return &partialBody{}
	}
	b := &partialBody{path: d.partPath(of, p)}
	info, err := os.Lstat(b.path)
	if err != nil {
		return b
	}
	if info.Mode().IsRegular() && info.Size() > 0 && info.Size() <= p.Size {
		if b.file, err = os.OpenFile(b.path, os.O_RDWR, 0); err == nil {
			b.resumed, b.left = info.Size(), info.Size()
			return b
		}
	}
	b.discard()
	return b
}

func (b *partialBody) Read(p []byte) (int, error) {
	if b.left > 0 {
		n, err := b.file.Read(p[:min(int64(len(p)), b.left)])
		b.left -= int64(n)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return n, err
	}
	if b.body == nil {
		return 0, io.EOF
	}
	n, err := b.body.Read(p)
	b.keep(p[:n])
	return n, err
}

// keep adds bytes to the file. It is for the next process only: without it the pack is
// fetched again.
func (b *partialBody) keep(data []byte) {
	if b.path == "" || len(data) == 0 {
		return
	}
	var err error
	if b.file == nil {
		b.file, err = os.OpenFile(b.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err == nil {
		_, err = b.file.Write(data)
	}
	if err != nil {
		b.discard()
	}
}

// discard deletes the file, and keeps nothing from then on.
func (b *partialBody) discard() {
	if b.file != nil {
		_ = b.file.Close()
		b.file = nil
	}
	if b.path != "" {
		_ = os.Remove(b.path)
		b.path = ""
	}
}

// Close ends the fetch. What was read is kept, until discard is called.
func (b *partialBody) Close() (err error) {
	if b.body != nil {
		err = b.body.Close()
	}
	if b.file != nil {
		err = errors.Join(err, b.file.Close())
		b.file = nil
	}
	return err
}
