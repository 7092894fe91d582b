//go:build linux

package conv2d

import (
	"context"
	"errors"
	"testing"

	"github.com/shadercache/shadercache"
)

// countedPending counts calls.
type countedPending struct {
	err             error
	waits, releases int
}

func (p *countedPending) Wait(context.Context) error {
	p.waits++
	return p.err
}

func (p *countedPending) Release() { p.releases++ }

// Every part of a run is waited for, with outputs to copy or without, also after one has
// failed; and the parts of a run that could not be started as a whole are released.
func TestSplitPending(t *testing.T) {
	first, last := errors.New("first"), errors.New("last")
	for _, copies := range []bool{false, true} {
		parts := []*countedPending{{err: first}, {}, {err: last}}
		p := &splitPending{parts: []shadercache.Pending{parts[0], parts[1], parts[2]}, copies: copies}
		if err := p.Wait(context.Background()); !errors.Is(err, first) || !errors.Is(err, last) {
			t.Errorf("copies %v: %v", copies, err)
		}
		p.Release()
		for i, part := range parts {
			if part.waits != 1 || part.releases != 1 {
				t.Errorf("copies %v: part %d was waited for %d times and released %d times", copies, i, part.waits, part.releases)
			}
		}
	}
	begun := &countedPending{}
	p := &splitPending{parts: []shadercache.Pending{begun, nil}}
	if pending, err := p.started(last); pending != nil || !errors.Is(err, last) || begun.releases != 1 {
		t.Errorf("a run that was started in part: %v, %v, released %d times", pending, err, begun.releases)
	}
	if pending, err := p.started(nil); pending != shadercache.Pending(p) || err != nil {
		t.Errorf("a run that was started: %v, %v", pending, err)
	}
}
