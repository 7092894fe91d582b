//go:build !linux || !cgo

package window

import (
	"fmt"

	"github.com/shadercache/shadercache/glctx"
)

// Window is a window and its context. Open makes none in this program.
type Window struct{ *glctx.Context }

// Open returns glctx.ErrNotBuilt, wrapped, with how to build the program.
func Open(o Options) (*Window, error) {
	_, err := glctx.Adopt(o.Context, nil)
	return nil, fmt.Errorf("window: %w", err)
}

// SwapBuffers does nothing.
func (w *Window) SwapBuffers() {}

// PollEvents does nothing.
func (w *Window) PollEvents() {}

// ShouldClose returns true.
func (w *Window) ShouldClose() bool { return true }

// Close does nothing.
func (w *Window) Close() error { return nil }
