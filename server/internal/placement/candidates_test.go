//go:build linux

package placement

import (
	"testing"

	"github.com/shadercache/shadercache/server/internal/supervisor"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// TestADeviceThatNeverServed may be the one that is asked for, so a client waits for it; where
// no device can be, any refuses the client.
func TestADeviceThatNeverServed(t *testing.T) {
	p := New(2, Options{})
	uuid := "uuid0"
	p.devices[0].uuid = &uuid
	hello := &wire.Hello{Device: []byte("uuid1")}
	if list := p.candidates(hello); len(list) != 0 {
		t.Errorf("device %d of those that serve has the client", list[0].number)
	}
	p.devices[1].failed = true
	if list := p.candidates(hello); len(list) != 2 {
		t.Errorf("%d devices may refuse the client", len(list))
	}
}

// TestASessionOfAFormerWorker could not be given to it: the sessions of its successor are as many
// as before.
func TestASessionOfAFormerWorker(t *testing.T) {
	p := New(1, Options{})
	d := p.Device(0)
	before, after := &supervisor.Link{}, &supervisor.Link{}
	d.Serves(before)
	d.Ended("gone")
	d.Serves(after)
	d.sessions = 2
	d.left(before)
	if d.sessions != 2 {
		t.Errorf("%d sessions, not 2", d.sessions)
	}
	d.left(after)
	if d.sessions != 1 {
		t.Errorf("%d sessions, not 1", d.sessions)
	}
}
