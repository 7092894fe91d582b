package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/shadercache/shadercache/fleet"
)

// Upload is the body of a PUT. net/http may read a body after the answer is there; Detach
// ends that, so that the caller has its data back.
type Upload struct {
	ctx  context.Context
	size int64

	mu struct {
		sync.Mutex
		detached bool
		sent     int // times that it was begun
	}
	data io.ReadSeeker
}

// maxSent is how often one PUT is sent. net/http sends it again, without a bound, after a GOAWAY or a
// refused stream of HTTP/2; more than a restart of what answers needs is none.
const maxSent = 4

// NewUpload returns an upload of size bytes, which ends with ctx.
func NewUpload(ctx context.Context, data io.ReadSeeker, size int64) *Upload {
	return &Upload{ctx: ctx, data: data, size: size}
}

// Attach makes the upload the body of a request.
func (u *Upload) Attach(request *http.Request) error {
	body, err := u.rewind()
	if err != nil {
		return err
	}
	request.ContentLength, request.Body, request.GetBody = u.size, body, u.rewind
	// Without a value it is not sent: it lets net/http send a PUT again where the server had
	// closed an idle connection.
	request.Header["Idempotency-Key"] = nil
	if u.size == 0 {
		request.Body = http.NoBody
	}
	return nil
}

func (u *Upload) rewind() (io.ReadCloser, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mu.detached {
		return nil, os.ErrClosed
	}
	if u.mu.sent++; u.mu.sent > maxSent {
		return nil, fmt.Errorf("%w: the server had it sent %d times, and took none", fleet.ErrUnreachable, maxSent)
	}
	_, err := u.data.Seek(0, io.SeekStart)
	return io.NopCloser(u), err
}

// Read reads the data until Detach, or the end of the context: a client that signs what it
// sends reads a lot at once.
func (u *Upload) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mu.detached {
		return 0, os.ErrClosed
	}
	return u.data.Read(p)
}

// Detach ends all use of the data.
func (u *Upload) Detach() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.detached = true
}

// Body is the body of an answer, whose errors are those of package remote.
type Body struct {
	io.ReadCloser
	Failed func(error) error // names the request
	Closed func()            // called by Close; may be nil
}

func (b *Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = b.Failed(Unreachable(err))
	}
	return n, err
}

// Close closes the body.
func (b *Body) Close() error {
	err := b.ReadCloser.Close()
	if b.Closed != nil {
		b.Closed()
	}
	return err
}
