package executor

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/glctx"
)

// Large copies between the host and the device go through mapped memory in pieces: the GPU
// copies one piece while goroutines copy others, and jobs run in between. One call of the
// driver for all of it copies with one thread, and keeps the GL thread for its time.
const (
	pieceBytes  = 2 << 20
	pieceCount  = 6 // in mapped memory
	leastPieces = 2 // a copy of fewer bytes is one call
)

// pieceCopiers is the number of goroutines that copy pieces at a time: while one waits for
// the GPU others copy.
func pieceCopiers() int { return max(2, min(pieceCount, runtime.GOMAXPROCS(0)/2)) }

// pieceStaging is the mapped memory of one direction, made at its first use and kept until
// Close. One copy uses it at a time.
type pieceStaging struct {
	turn    chan struct{}
	mapped  glctx.Staging
	pending [pieceCount]glctx.Fence // of the last command that uses a piece; 0: none
}

func newPieceStaging() pieceStaging { return pieceStaging{turn: make(chan struct{}, 1)} }

// begin waits for the turn of the caller and makes the mapped memory. It reports false
// where the copy is to be one call: it is small, the driver copies on the CPU, or the
// executor is closed. end follows.
func (p *pieceStaging) begin(ctx context.Context, e *Executor, n int, direction glctx.Direction) (bool, error) {
	if n < leastPieces*pieceBytes || e.info.Software() && !e.options.test.pieces {
		return false, nil
	}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if !e.hostAccess.begin() {
		<-p.turn
		return false, nil
	}
	if p.mapped.Data != nil {
		return true, nil
	}
	err := e.context.Do(func(gl *glctx.GL) (err error) {
		p.mapped, err = gl.NewStaging(pieceCount*pieceBytes, direction)
		return err
	})
	if err != nil {
		p.end(e)
	}
	return err == nil, err
}

func (p *pieceStaging) end(e *Executor) {
	e.hostAccess.end()
	<-p.turn
}

// free deletes the mapped memory. No copy uses it any more.
func (p *pieceStaging) free(gl *glctx.GL) {
	for i := range p.pending {
		p.deleteFence(gl, i)
	}
	gl.DeleteStaging(p.mapped)
}

func (p *pieceStaging) deleteFence(gl *glctx.GL, slot int) {
	if p.pending[slot] != (glctx.Fence{}) {
		gl.DeleteFence(p.pending[slot])
		p.pending[slot] = glctx.Fence{}
	}
}

// data returns the mapped memory of a piece of n bytes.
func (p *pieceStaging) data(slot, n int) []byte {
	return p.mapped.Data[slot*pieceBytes : slot*pieceBytes+n]
}

// wait waits until the commands that use a piece are complete. It polls, so that the GL
// thread serves others.
func (p *pieceStaging) wait(e *Executor, slot int) error {
	for start := time.Now(); ; {
		done := false
		err := e.context.Do(func(gl *glctx.GL) (err error) {
			if done = p.pending[slot] == (glctx.Fence{}); done {
				return nil
			}
			if done, err = gl.WaitFence(p.pending[slot], 0); err == nil && done {
				err = gl.CheckLost()
				p.deleteFence(gl, slot)
			}
			return err
		})
		if err != nil || done {
			return err
		}
		if waited := time.Since(start); waited > pieceSpin {
			time.Sleep(min(waited/4, time.Millisecond))
		}
	}
}

// pieceSpin is the time for which wait polls without sleeping: about that of a piece.
const pieceSpin = 200 * time.Microsecond

// UploadInPieces is Upload, in pieces where that is faster: a job that is submitted before
// it returns may find a part of data.
func (m *Memory) UploadInPieces(ctx context.Context, offset int, data []byte) error {
	p := &m.e.uploads
	whole := func() error { return m.Upload(ctx, offset, data) }
	return m.inPieces(ctx, p, glctx.Upload, offset, len(data), whole, func(slot, at, n int) error {
		if err := p.wait(m.e, slot); err != nil {
			return err
		}
		copy(p.data(slot, n), data[at:at+n])
		return m.e.context.Do(func(gl *glctx.GL) error {
			gl.Copy(p.mapped.Buffer, slot*pieceBytes, m.buffer, offset+at, n)
			p.pending[slot] = gl.NewFence()
			gl.Flush()
			return gl.Err()
		})
	})
}

// DownloadInPieces is Download, in pieces where that is faster: what a job writes that is
// submitted before it returns may be a part of dst.
func (m *Memory) DownloadInPieces(ctx context.Context, offset int, dst []byte) error {
	p := &m.e.downloads
	whole := func() error { return m.Download(ctx, offset, dst) }
	return m.inPieces(ctx, p, glctx.Download, offset, len(dst), whole, func(slot, at, n int) error {
		err := m.e.context.Do(func(gl *glctx.GL) error {
			p.deleteFence(gl, slot) // of a copy that failed
			gl.Copy(m.buffer, offset+at, p.mapped.Buffer, slot*pieceBytes, n)
			gl.MemoryBarrier(glctx.BarrierMapped)
			p.pending[slot] = gl.NewFence()
			gl.Flush()
			return gl.Err()
		})
		if err == nil {
			err = p.wait(m.e, slot)
		}
		if err == nil {
			copy(dst[at:at+n], p.data(slot, n))
		}
		return err
	})
}

// inPieces copies n bytes from or to offset with piece, after the jobs submitted so far that use
// the memory, or with whole where the copy is to be one call.
func (m *Memory) inPieces(ctx context.Context, p *pieceStaging, direction glctx.Direction, offset, n int,
	whole func() error, piece func(slot, at, n int) error,
) error {
	ok, err := p.begin(ctx, m.e, n, direction)
	switch {
	case err != nil:
		return err
	case !ok:
		return whole()
	}
	defer p.end(m.e)
	if err := m.access(ctx, offset, n, func(*glctx.GL) {}); err != nil {
		return err
	}
	return inPieces(n, piece)
}

// inPieces calls fn for the pieces of size bytes, in as many goroutines as there are slots
// or CPUs for. Each has a slot of its own.
func inPieces(size int, fn func(slot, at, n int) error) error {
	var next atomic.Int64
	var copiers errgroup.Group
	for slot := range min(pieceCount, pieceCopiers()) {
		copiers.Go(func() error {
			for {
				at := int(next.Add(pieceBytes)) - pieceBytes
				if at >= size {
					return nil
				}
				if err := fn(slot, at, min(pieceBytes, size-at)); err != nil {
					return err
				}
			}
		})
	}
	return copiers.Wait()
}
