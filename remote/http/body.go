package http

import (
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/shadercache/shadercache/remote"
)

// upload is the body of a PUT. net/http may read a body after the answer is there; detach
// ends that, so that the caller has its data back.
type upload struct {
	size int64

	mu struct {
		sync.Mutex
		detached bool
	}
	data io.ReadSeeker
}

// attach makes the upload the body of a request.
func (u *upload) attach(request *http.Request) error {
	body, err := u.rewind()
	if err != nil {
		return err
	}
	request.ContentLength, request.Body, request.GetBody = u.size, body, u.rewind
	if u.size == 0 {
		request.Body = http.NoBody
	}
	return nil
}

func (u *upload) rewind() (io.ReadCloser, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mu.detached {
		return nil, os.ErrClosed
	}
	_, err := u.data.Seek(0, io.SeekStart)
	return io.NopCloser(u), err
}

// Read reads the data until detach.
func (u *upload) Read(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mu.detached {
		return 0, os.ErrClosed
	}
	return u.data.Read(p)
}

// detach ends all use of the data.
func (u *upload) detach() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.detached = true
}

// answerBody is the body of an answer, whose errors are those of package remote.
type answerBody struct {
	body   io.ReadCloser
	failed func(error) error
}

func (a *answerBody) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if err != nil && err != io.EOF {
		err = a.failed(unreachable(err))
	}
	return n, err
}

func (a *answerBody) Close() error { return a.body.Close() }

var _ remote.Backend = (*Backend)(nil)
