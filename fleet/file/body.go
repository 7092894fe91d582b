package file

import (
	"context"
	"io"
	"os"
)

// body is the content of a large object. Its Read returns when the context ends, also where
// a file server does not answer.
type body struct {
	*io.PipeReader
	stop func() bool
}

const bodyBytes = 256 << 10

func newBody(ctx context.Context, f *os.File) *body {
	from, to := io.Pipe()
	go func() {
		buf := make([]byte, bodyBytes)
		_, err := io.CopyBuffer(to, contextReader{ctx: ctx, from: f}, buf)
		_ = f.Close()
		_ = to.CloseWithError(meaning(err))
	}()
	stop := context.AfterFunc(ctx, func() { _ = to.CloseWithError(meaning(ctx.Err())) })
	return &body{from, stop}
}

func (b *body) Close() error {
	b.stop()
	return b.PipeReader.Close()
}
