//go:build linux

package glctx_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// Every device that is listed can be opened by its index, and by its UUID where it has
// one, and its memory is plausible.
func TestListedDevicesCanBeOpened(t *testing.T) {
	gltest.Open(t)
	list, err := glctx.Devices()
	if errors.Is(err, glctx.ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatal("EGL lists no device, and a context was opened")
	}
	for i, d := range list {
		if d.Index != i {
			t.Errorf("device %d has the index %d", i, d.Index)
		}
		for _, name := range []string{strconv.Itoa(d.Index), d.UUID} {
			if name == "" {
				continue
			}
			c := gltest.OpenWith(t, glctx.Options{Device: name})
			if c.Info().Software() != d.Software {
				t.Errorf("device %s is %s, and listed with software %v", name, c.Info().GPU, d.Software)
			}
			if total, free := c.GPUMemory(); free < 0 || total != 0 && free > total {
				t.Errorf("device %s: %d bytes free of %d", name, free, total)
			}
		}
	}
}
