package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// TestHeadsThatNoWriterMakes: the form of each is right, what it says is impossible.
func TestHeadsThatNoWriterMakes(t *testing.T) {
	for want, change := range map[string]func(*Head){
		"a pack twice":                 func(h *Head) { h.Packs = append(h.Packs, h.Packs[0]) },
		"impossible values":            func(h *Head) { h.Packs[0].Replaces = make([]shader.Digest, maxPacks+1) },
		"is that of driver":            func(h *Head) { h.Driver.Version = "other" },
		"the impossible number":        func(h *Head) { h.Sequence = maxSequence + 1 },
		"at most 256 are possible":     func(h *Head) { h.Retired = make([]Retired, maxPacks+1) },
		"impossible values for pack c": func(h *Head) { h.Packs[0] = Pack{SHA256: shader.Digest{0xC0}, Size: 1, Saves: maxSaves + 1} },
	} {
		h := fuzzHead()
		change(h)
		data, err := h.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeHead(data, fuzzDriver.Digest()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestPacksThatAreOpenedAhead: large ones are not, since stores close what is not read for long.
func TestPacksThatAreOpenedAhead(t *testing.T) {
	for _, c := range []struct {
		sizes []int64
		most  int // that are open at a time
	}{
		{[]int64{1, 1, 1, 1, 1, 1}, parallelPacks},
		{[]int64{aheadBytes / 2, aheadBytes / 2, aheadBytes / 2, 1}, 2},
		{[]int64{64 * aheadBytes, 1, 4 * aheadBytes, 1}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var packs []Pack
			for _, size := range c.sizes {
				packs = append(packs, Pack{Size: size})
			}
			var now, most atomic.Int64
			open := func(context.Context, Pack) (io.Closer, error) {
				now.Add(1)
				return closer(func() { now.Add(-1) }), nil
			}
			used := 0
			err := openPacks(t.Context(), packs, open, func(p Pack, _ io.Closer, err error) error {
				synctest.Wait() // until all are open that will be
				most.Store(max(most.Load(), now.Load()))
				used++
				return err
			})
			if err != nil || used != len(packs) || int(most.Load()) != c.most {
				t.Errorf("%v: %d were used, at most %d of them open at a time, not %d: %v", c.sizes, used, most.Load(), c.most, err)
			}
		})
	}
}

type closer func()

func (c closer) Close() error { c(); return nil }

// A new head continues after those that were seen, and is as late as the clock, since later ones
// may have been there that this writer does not know.
func TestNumbersOfHeads(t *testing.T) {
	now := time.UnixMilli(1000)
	for name, c := range map[string]struct {
		head Head
		seen driverState
		list *KeyList
		want Head
	}{
		"the next":                        {Head{Epoch: 2, Sequence: 5000}, driverState{Epoch: 2, Sequence: 5000}, nil, Head{Epoch: 2, Sequence: 5001}},
		"after one that was deleted":      {Head{}, driverState{Epoch: 2, Sequence: 5000}, nil, Head{Epoch: 2, Sequence: 5001}},
		"after one that was put back":     {Head{Epoch: 2, Sequence: 3}, driverState{Epoch: 2, Sequence: 5000}, nil, Head{Epoch: 2, Sequence: 5001}},
		"after one that others have seen": {Head{Epoch: 2, Sequence: 3}, driverState{Epoch: 2, Sequence: 3}, nil, Head{Epoch: 2, Sequence: 1000}},
		"of a later list":                 {Head{Epoch: 2, Sequence: 5000}, driverState{}, &KeyList{Epoch: 3}, Head{Epoch: 3, Sequence: 1000}},
		"the first":                       {Head{}, driverState{}, nil, Head{Sequence: 1000}},
	} {
		h := c.head
		h.number(c.seen, c.list, now)
		if h.Epoch != c.want.Epoch || h.Sequence != c.want.Sequence {
			t.Errorf("%s: number %d of epoch %d, want %+v", name, h.Sequence, h.Epoch, c.want)
		}
	}
}

// A file of the state that is too large counts as missing.
func TestStateThatIsTooLarge(t *testing.T) {
	d := stateDir{t.TempDir()}
	for size, want := range map[int]uint64{maxStateBytes: 5, maxStateBytes + 1: 0} {
		var s driverState
		text := `{"sequence": 5}`
		if err := os.WriteFile(filepath.Join(d.path, stateName), []byte(text+strings.Repeat(" ", size-len(text))), 0o600); err != nil {
			t.Fatal(err)
		}
		if d.read(stateName, &s); s.Sequence != want {
			t.Errorf("of %d bytes: %d, want %d", size, s.Sequence, want)
		}
	}
}

// A head has one form: what says the same in another one is refused.
func TestHeadsHaveOneForm(t *testing.T) {
	data, err := fuzzHead().encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string][]byte{
		"a space":       append(bytes.Clone(data), ' '),
		"another field": bytes.Replace(data, []byte("{\n"), []byte("{\n \"x\": 1,\n"), 1),
		"a field twice": bytes.Replace(data, []byte("{\n"), []byte("{\n \"sequence\": 1,\n"), 1),
		"one line":      bytes.ReplaceAll(data, []byte("\n "), []byte(" ")),
	} {
		if _, err := decodeHead(other, fuzzDriver.Digest()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "not in the form") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// listing is a store that lists a head of each of so many drivers.
type listing struct {
	Backend
	drivers int
}

func (l listing) List(context.Context, string) (infos []Info, err error) {
	for n := range l.drivers {
		infos = append(infos, Info{Name: headName(sha256.Sum256(binary.LittleEndian.AppendUint32(nil, uint32(n))))})
	}
	return infos, nil
}

func TestListingsHaveALimit(t *testing.T) {
	for drivers, fails := range map[int]bool{maxDrivers: false, maxDrivers + 1: true} {
		infos, err := bounded{listing{drivers: drivers}}.List(t.Context(), "v1/")
		if errors.Is(err, ErrProtocol) != fails || !fails && len(infos) != drivers {
			t.Errorf("%d drivers: %d names, %v", drivers, len(infos), err)
		}
	}
}

// TestPartsThatAreNotContinued: one with more bytes than the pack is deleted, and none is kept
// of a pack that is too large for it.
func TestPartsThatAreNotContinued(t *testing.T) {
	d, p := stateDir{t.TempDir()}, Pack{SHA256: shader.Digest{1}, Size: 100}
	path := filepath.Join(d.path, fuzzDriver.Digest().String(), p.SHA256.String()+partExt)
	err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, make([]byte, 101), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if b := d.openPart(fuzzDriver.Digest(), p); b.resumed != 0 || b.Close() != nil {
		t.Errorf("%d bytes of 100 were kept", b.resumed)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was not deleted: %v", err)
	}
	p.Size = maxPartBytes + 1
	b := d.openPart(fuzzDriver.Digest(), p)
	b.keep(make([]byte, 10))
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) || b.Close() != nil {
		t.Errorf("a part of a pack of %d bytes was kept: %v", p.Size, err)
	}
}

// TestPatienceSavesNothing: a store that was fast has no more time than another one.
func TestPatienceSavesNothing(t *testing.T) {
	p := &patience{limit: time.Minute, left: time.Second}
	p.transferred(1 << 30)
	if p.left != p.limit {
		t.Error(p.left)
	}
}
