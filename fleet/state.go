package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// Folder is the folder below a cache directory with what is known of remotes:
//
//	remote/<remote>/               8 digits of the SHA-256 of the URL without credentials, and of
//	                               the endpoint of s3
//	    breaker.json               see breaker
//	    keys.json                  the newest list of keys, of the heads of any driver: its line
//	    counters.jsonl             see Counters: lines to sum up
//	    counters.lock              shared while a line is added
//	    lock                       held while breaker.json or a state.json is changed
//	    <fingerprint>/state.json   see driverState
//	    <fingerprint>/<pack>.items what a pack has, for Push
//	    <fingerprint>/<pack>.part  the first bytes of a pack whose fetch ended early
//	    <fingerprint>/pull.lock    held during a pull
//
// The files can be deleted at any time: a pull then fetches again.
const Folder = "remote"

const (
	breakerName  = "breaker.json"
	keysState    = "keys.json"
	countersName = "counters.jsonl"
	countersLock = "counters.lock"
	stateName    = "state.json"
	lockName     = "lock"
	pullLockName = "pull.lock"
	itemsExt     = ".items"

	maxStateBytes = 1 << 20
	maxItemsBytes = 64 << 20

	// lockWait limits the time that a change of a file waits for those of others, which
	// take a millisecond.
	lockWait = 5 * time.Second
	lockPoll = time.Millisecond
)

// stateDir is the folder of one remote. Its methods may be called from any goroutine, in
// any number of processes.
type stateDir struct{ path string }

// driverState is what is known of a driver's head.
type driverState struct {
	Epoch     uint64          `json:"epoch,omitempty"`     // the highest of a signed head
	Sequence  uint64          `json:"sequence"`            // the highest of that epoch; 0 = none was seen
	Head      shader.Digest   `json:"head"`                // of the bytes of that head
	Before    *uint64         `json:"before"`              // that head was written here without compare-and-swap, after this number; nil: it was read
	Packs     []shader.Digest `json:"packs"`               // installed, or made here
	Unsynced  time.Time       `json:"unsynced,omitzero"`   // since when files of them may not be on the disk; zero: they are
	Forgotten uint64          `json:"forgotten,omitempty"` // how often they were forgotten: see markInstalled
	Checked   time.Time       `json:"checked"`             // the last answer of the remote
	Missing   bool            `json:"missing"`             // that answer: there is no head
	Saves     time.Duration   `json:"saves_ns"`            // what the packs of that head save: see Pack

	unread error // why it is not known, though there is a file
}

// has reports whether a pack is installed, or all packs that it replaces.
func (s *driverState) has(p Pack) bool {
	if s.hasDigest(p.SHA256) {
		return true
	}
	lacks := func(old shader.Digest) bool { return !s.hasDigest(old) }
	return len(p.Replaces) > 0 && !slices.ContainsFunc(p.Replaces, lacks)
}

func (s *driverState) hasDigest(d shader.Digest) bool { return slices.Contains(s.Packs, d) }

func (s *driverState) forgetPacks() {
	s.Packs, s.Unsynced, s.Forgotten = nil, time.Time{}, s.Forgotten+1
}

// content returns what a file has: nothing where there is none, or that has more bytes than limit.
func (d stateDir) content(name string, limit int64) ([]byte, error) {
	f, info, err := osfile.OpenRegular(filepath.Join(d.path, name), os.Lstat, os.OpenFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && f == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil || info.Size() > limit {
		return nil, err
	}
	return data, nil
}

// read decodes a JSON file, and leaves v as it is where there is none, or one that is damaged.
func (d stateDir) read(name string, v any) error {
	data, err := d.content(name, maxStateBytes)
	if err == nil {
		_ = json.Unmarshal(data, v)
	}
	return err
}

// write replaces a file.
func (d stateDir) write(name string, data []byte) error {
	path := filepath.Join(d.path, name)
	put := func(w *bufio.Writer) error { _, err := w.Write(data); return err }
	err := osfile.WriteUnsynced(path, put)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = osfile.WriteUnsynced(path, put)
		}
	}
	return err
}

// update reads a JSON file into v, calls change, and writes v. Changes of several
// processes follow each other: it waits for them, no longer than wait.
func (d stateDir) update(wait time.Duration, name string, v any, change func()) error {
	return d.locked(wait, lockName, true, func() error {
		if err := d.read(name, v); err != nil {
			return err // what was seen is not written over
		}
		change()
		data, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			return err
		}
		return d.write(name, append(data, '\n'))
	})
}

// locked calls do with a lock, for which it waits no longer than wait.
func (d stateDir) locked(wait time.Duration, name string, alone bool, do func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	unlock, err := d.lock(ctx, name, alone)
	if err == nil {
		defer unlock()
		err = do()
	}
	if err != nil {
		return fmt.Errorf("remote: %w", err)
	}
	return nil
}

// lock locks a file, alone or shared, until unlock is called or the process ends.
func (d stateDir) lock(ctx context.Context, name string, alone bool) (unlock func(), err error) {
	path := filepath.Join(d.path, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	// NFS locks no file that was not opened to write. Where a FIFO is in its place, opening it does not
	// wait for another process.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := osfile.LockWithin(ctx, f, alone, lockPoll); err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, f.Close())
	}
	return func() { _ = osfile.Release(f) }, nil
}

// driver returns what is known of a driver's head.
func (d stateDir) driver(of shader.Digest) (s driverState) {
	s.unread = d.read(filepath.Join(of.String(), stateName), &s)
	return s
}

// updateDriver changes what is known of a driver's head.
func (d stateDir) updateDriver(of shader.Digest, change func(*driverState)) error {
	var s driverState
	return d.update(lockWait, filepath.Join(of.String(), stateName), &s, func() { change(&s) })
}

// putItems stores the items of a pack, which is only used to spare Push a fetch.
func (d stateDir) putItems(of, id shader.Digest, items []pack.Item) {
	data := make([]byte, 0, len(items)*len(pack.Item{}))
	for _, i := range items {
		data = append(data, i[:]...)
	}
	_ = d.write(filepath.Join(of.String(), id.String()+itemsExt), data)
}

// items returns the items of a pack, and false where they are not known.
func (d stateDir) items(of, id shader.Digest) ([]pack.Item, bool) {
	data, _ := d.content(filepath.Join(of.String(), id.String()+itemsExt), maxItemsBytes)
	const size = len(pack.Item{})
	if len(data)%size != 0 || len(data) == 0 {
		return nil, false
	}
	items := make([]pack.Item, 0, len(data)/size)
	for ; len(data) > 0; data = data[size:] {
		items = append(items, pack.Item(data))
	}
	return items, true
}

// dropUnlisted deletes the items and parts of packs that a head does not list.
func (d stateDir) dropUnlisted(h *Head) {
	listed := h.digests()
	folder := filepath.Join(d.path, h.Fingerprint.String())
	for _, e := range osfile.List(folder) {
		digits := strings.TrimSuffix(strings.TrimSuffix(e.Name(), itemsExt), partExt)
		var id shader.Digest
		if digits != e.Name() && id.UnmarshalText([]byte(digits)) == nil && !listed[id] {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// holds reports whether a cache directory still has what was installed for a driver: its
// programs, and any machine code. Where a user deleted either, all packs are new again.
func holds(dir *binary.Dir, driver binary.Fingerprint) bool {
	for _, name := range []string{filepath.Join(driver.DirName(), "fingerprint.json"), filepath.Base(dir.DriverDir())} {
		if _, err := os.Stat(filepath.Join(dir.Path(), name)); err != nil {
			return false
		}
	}
	return true
}
