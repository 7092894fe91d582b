// Package file is the backend of package fleet for a directory: of this machine, or of a
// file server that a fleet mounts. Its URLs are like file:///srv/shadercache.
//
// The directory is shared, so its owner and mode are not checked: packs are trusted for the
// signature of their head, not for their place. Objects are plain files of the names of
// package fleet, which an HTTP server can serve. A file is written under another name,
// which starts with a dot, synced and renamed: readers see the old one or the new one,
// whole. Writers of one folder exclude each other by a lock on its file .lock, which ends
// with their process. On NFS the server has to support locks: with the mount options
// nolock or local_lock the last of two writers on different machines wins.
package file

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/internal/osfile"
)

func init() { fleet.Register("file", open) }

const (
	lockName  = ".lock"
	tempStart = ".put-"

	// tagBytes is the size up to which an object has a tag, the digest of its content:
	// heads and leases. Packs do not change.
	tagBytes = 1 << 20

	lockPoll = 2 * time.Millisecond
	// lockTime is less than the patience of a command, whose error names no lock. Writers
	// have it for milliseconds.
	lockTime = 20 * time.Second
	// tempAge is the age from which the file of an interrupted Put is deleted.
	tempAge = 24 * time.Hour
)

type backend struct{ path string }

// open returns the backend for a URL. It does not look at the directory.
func open(u *url.URL, _ fleet.BackendOptions) (fleet.Backend, error) {
	if u.Host != "" && u.Host != "localhost" || !path.IsAbs(u.Path) || u.Opaque != "" {
		return nil, errors.New("a directory has a URL with three slashes, like file:///srv/shadercache")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the URL of a directory has no user and no options; a # in its name is written %23")
	}
	return &backend{filepath.FromSlash(path.Clean(u.Path))}, nil
}

// Connect does nothing: there is no connection.
func (b *backend) Connect(context.Context) error { return nil }

func (b *backend) Abilities(context.Context) (fleet.Abilities, error) {
	return fleet.Abilities{CompareAndSwap: osfile.HasLocks, List: true, Delete: true}, nil
}

func (b *backend) Close() error { return nil }

// wait returns the result of do, or the error of ctx where that ends first: a file server
// that does not answer blocks do for as long as it likes.
func wait[T any](ctx context.Context, do func() (T, error), late func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%w: %w", fleet.ErrUnreachable, err)
	}
	done := make(chan result, 1)
	go func() {
		v, err := do()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, meaning(r.err)
	case <-ctx.Done():
	}
	go func() {
		if r := <-done; r.err == nil && late != nil {
			late(r.value)
		}
	}()
	return none, fmt.Errorf("%w: %w", fleet.ErrUnreachable, ctx.Err())
}

// meaning returns an error of the file system as one of package fleet.
func meaning(err error) error {
	for _, known := range []error{fleet.ErrChanged, fleet.ErrProtocol, fleet.ErrBusy} {
		if errors.Is(err, known) {
			return err
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", fleet.ErrNotFound, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w", fleet.ErrDenied, err)
	}
	return fmt.Errorf("%w: %w", fleet.ErrUnreachable, err)
}

// checkName returns an error for a name that leaves the directory, or that is not one of an
// object.
func checkName(name string) error {
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("%w: object name %q", fleet.ErrProtocol, name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || strings.ContainsRune(part, '\\') {
			return fmt.Errorf("%w: object name %q", fleet.ErrProtocol, name)
		}
	}
	return nil
}

func (b *backend) Get(ctx context.Context, name string, first int64) (*fleet.Object, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return wait(ctx, func() (*fleet.Object, error) { return b.get(ctx, name, first) }, func(o *fleet.Object) { _ = o.Body.Close() })
}

func (b *backend) get(ctx context.Context, name string, first int64) (*fleet.Object, error) {
	root, err := os.OpenRoot(b.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, size, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	if first > 0 {
		if _, err := f.Seek(first, io.SeekStart); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if size > tagBytes || first > 0 {
		return &fleet.Object{Body: newBody(ctx, f), Size: size}, nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, tagBytes))
	if err != nil {
		return nil, err
	}
	return &fleet.Object{Body: io.NopCloser(strings.NewReader(string(data))), Size: int64(len(data)), Tag: tagOf(data)}, nil
}

// openRegular opens a regular file, and returns its size.
func openRegular(root *os.Root, name string) (f *os.File, size int64, err error) {
	f, info, err := osfile.OpenRegular(name, root.Stat, root.OpenFile)
	switch {
	case err != nil:
		return nil, 0, err
	case f == nil:
		return nil, 0, fmt.Errorf("%w: %s is not a regular file", fleet.ErrProtocol, name)
	}
	return f, info.Size(), nil
}

// tagOf returns the tag of a small object.
func tagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (b *backend) Put(ctx context.Context, name string, data io.ReadSeeker, o fleet.PutOptions) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	if _, err := data.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return wait(ctx, func() (string, error) { return b.put(ctx, name, data, o) }, nil)
}

func (b *backend) put(ctx context.Context, name string, data io.Reader, o fleet.PutOptions) (tag string, err error) {
	// Others of the fleet have to be able to read it; the umask says who may write.
	if err := os.MkdirAll(b.path, 0o777); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(b.path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return "", err
	}
	temp, tag, err := writeTemp(ctx, root, path.Dir(name), data)
	if err != nil {
		return "", err
	}
	if err := b.replace(ctx, root, temp, name, o); err != nil {
		_ = root.Remove(temp) // it is not there where the folder was not synced
		return "", err
	}
	return tag, nil
}

// syncBytes are synced at a time: an NFS server gets them only then, and a command's patience counts what was read.
const syncBytes = 16 << 20

// syncFile is File.Sync, but in tests.
var syncFile = (*os.File).Sync

// writeTemp writes data to a new file of a folder, and syncs it.
func writeTemp(ctx context.Context, root *os.Root, folder string, data io.Reader) (name, tag string, err error) {
	name = path.Join(folder, tempStart+rand.Text())
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", "", err
	}
	sum, n := sha256.New(), int64(0)
	for more := int64(syncBytes); err == nil && more == syncBytes; n += more {
		if more, err = io.CopyN(io.MultiWriter(f, sum), contextReader{ctx, data}, syncBytes); err == nil || err == io.EOF {
			err = syncFile(f)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", "", errors.Join(err, root.Remove(name))
	}
	if n <= tagBytes {
		tag = hex.EncodeToString(sum.Sum(nil))
	}
	return name, tag, nil
}

// contextReader ends with its context.
type contextReader struct {
	ctx  context.Context
	from io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// replace renames a file to its name, if the present one is as o requires.
func (b *backend) replace(ctx context.Context, root *os.Root, temp, name string, o fleet.PutOptions) error {
	unlock, err := lockFolder(ctx, root, path.Dir(name))
	if err != nil {
		return err
	}
	defer unlock()
	if o.IfAbsent {
		if _, err := root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fleet.ErrChanged, err)
		}
	}
	if o.IfTag != "" {
		present, err := tagIn(root, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if present != o.IfTag {
			return fleet.ErrChanged
		}
	}
	sweep(root, temp)
	if err := ctx.Err(); err != nil {
		return err // the caller was told that it failed
	}
	if err := root.Rename(temp, name); err != nil {
		return err
	}
	err = osfile.SyncDir(filepath.Join(b.path, path.Dir(name)))
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // the file system syncs files alone
	}
	return err
}

// tagIn returns the tag of an object, and another one for what is too large to have one. Others
// of the fleet may have put anything there meanwhile.
func tagIn(root *os.Root, name string) (string, error) {
	f, _, err := openRegular(root, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, tagBytes+1))
	return tagOf(data), err
}

// lockFolder locks a folder for a writer. A lock needs no right to write, so those who have none get
// no right to read its file: they could keep all writers out.
func lockFolder(ctx context.Context, root *os.Root, folder string) (unlock func(), err error) {
	f, err := root.OpenFile(path.Join(folder, lockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil {
		mode := info.Mode().Perm() & 0o222
		if mode |= mode << 1; mode != info.Mode().Perm() {
			_ = f.Chmod(mode) // another user's is that user's to change
		}
	}
	at := filepath.Join(root.Name(), folder, lockName)
	ctx, end := context.WithTimeoutCause(ctx, lockTime,
		fmt.Errorf("%w: another process has had the lock %s for %v (hint: fuser -v %s names it)", fleet.ErrBusy, at, lockTime, at))
	defer end()
	if err := osfile.LockWithin(ctx, f, true, lockPoll); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = osfile.Release(f) }, nil
}

// sweep deletes files of interrupted writers beside a new one, whose time tells the clock of the
// file system: a server's may be another one than this machine's.
func sweep(root *os.Root, temp string) {
	made, err := root.Lstat(temp)
	if err != nil {
		return
	}
	list, _ := fs.ReadDir(root.FS(), path.Dir(temp))
	for _, e := range list {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), tempStart) && made.ModTime().Sub(info.ModTime()) > tempAge {
			_ = root.Remove(path.Join(path.Dir(temp), e.Name()))
		}
	}
}

func (b *backend) Delete(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	_, err := wait(ctx, func() (struct{}, error) {
		root, err := os.OpenRoot(b.path)
		if err == nil {
			err = errors.Join(root.Remove(name), root.Close())
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return struct{}{}, err
	}, nil)
	return err
}

func (b *backend) List(ctx context.Context, folder string) ([]fleet.Info, error) {
	if err := checkName(strings.TrimSuffix(folder, "/")); err != nil {
		return nil, err
	}
	return wait(ctx, func() ([]fleet.Info, error) { return b.list(ctx, strings.TrimSuffix(folder, "/"), maxObjects) }, nil)
}

// maxObjects bounds a listing: a fleet has tens of drivers, with tens of packs each.
const maxObjects = 100_000

// list returns the objects of a folder, if there are no more than most. A folder that is
// missing is empty, but not the whole directory.
func (b *backend) list(ctx context.Context, folder string, most int) ([]fleet.Info, error) {
	root, err := os.OpenRoot(b.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var infos []fleet.Info
	err = fs.WalkDir(root.FS(), folder, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		if d.Type() == fs.ModeSymlink { // who revokes a key has to reach each head that readers do
			return fmt.Errorf("%w: %s is a symbolic link, which readers follow and listings do not", fleet.ErrProtocol, name)
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) || !d.Type().IsRegular() {
			return nil
		}
		if err == nil && len(infos) == most {
			err = fmt.Errorf("%w: more than %d objects", fleet.ErrProtocol, most)
		}
		if err != nil {
			return err
		}
		infos = append(infos, fleet.Info{Name: name, Size: info.Size(), Changed: info.ModTime()})
		return nil
	})
	return infos, err
}
