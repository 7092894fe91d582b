//go:build linux

package socket_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// TestDescriptorsThatComeFasterThanTheyAreClosed wait in their sockets: the others of the process
// would have none. Frames without descriptors are read meanwhile.
func TestDescriptorsThatComeFasterThanTheyAreClosed(t *testing.T) {
	memory, err := wire.AppendFrame(nil, wire.TypeMemory, 1, &wire.Memory{ID: 1, Size: 4096})
	if err != nil {
		t.Fatal(err)
	}
	status, err := wire.AppendFrame(nil, wire.TypeStatus, 2, &wire.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	before := openFiles(t)
	release := socket.HoldClosers()
	const connections, each = 24, 253
	waiting := 0
	for range connections {
		c, theirs := connection(t)
		sendFiles(t, theirs, status, each)
		if err := c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		_, _, err := c.Next()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			waiting++
		case !errors.Is(err, wire.ErrMalformed):
			t.Errorf("a frame with %d descriptors: %v", each, err)
		}
	}
	if n := openFiles(t) - before; n > 9*each || waiting < connections/2 {
		t.Errorf("%d descriptors, and %d of %d wait", n, waiting, connections)
	}
	c, theirs := connection(t)
	if _, err := theirs.Write(status); err != nil {
		t.Fatal(err)
	}
	if h, _, err := c.Next(); err != nil || h.Type != wire.TypeStatus {
		t.Errorf("a frame without descriptors: %v, %v", h.Type, err)
	}
	sendFiles(t, theirs, memory, 1)
	release()
	h, _, err := c.Next()
	if err != nil || h.Type != wire.TypeMemory {
		t.Errorf("a frame with its descriptor: %v, %v", h.Type, err)
	}
	if _, err := c.TakeFiles(h.Type); err != nil {
		t.Error(err)
	}
}

// openFiles returns the number of descriptors of the process.
func openFiles(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}
