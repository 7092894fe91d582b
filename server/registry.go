//go:build linux

package server

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// resource is what a registry keeps.
type resource interface {
	size() int64 // bytes, which do not change
	free()       // called once, when no session uses it and its name is gone
}

// registry is the named objects of one kind. They outlive their clients: an idle one is
// deleted after a time, or, the least recently used first, when room is needed. Its
// methods may be called from any goroutine.
type registry[T resource] struct {
	what    string // that it keeps
	limit   int64
	idleFor time.Duration
	names   Names // nil: no other process has objects of this kind

	mu struct {
		sync.Mutex
		byName map[string]*named[T]
		bytes  int64 // of all, deleted ones in use included
		timer  *time.Timer
		closed bool
	}
}

// named is one object. Sessions that use it hold a reference.
type named[T resource] struct {
	object  T
	name    string
	made    chan struct{} // closed when object or err is set
	err     error
	users   int
	used    time.Time // when the last user left
	deleted bool      // has no name any more
}

// maxNamed is the most named objects of a kind: the least ones take memory too.
const maxNamed = 16 << 10

func newRegistry[T resource](what string, limit int64, idleFor time.Duration, names Names) *registry[T] {
	r := &registry[T]{what: what, limit: limit, idleFor: idleFor, names: names}
	r.mu.byName = map[string]*named[T]{}
	return r
}

// open returns the object of a name, for one more user. Where there is none and create is
// not nil it makes one of size bytes; other callers wait for it. leave ends the use.
func (r *registry[T]) open(name string, fresh bool, size int64, create func() (T, error)) (n *named[T], created bool, err error) {
	r.mu.Lock()
	n, found := r.mu.byName[name]
	var refused *wire.Error
	switch {
	case found && fresh:
		refused = reject(wire.CodeExists, "there is a named %s %q already", r.what, name)
	case !found && create == nil:
		refused = &wire.Error{Code: wire.CodeNotFound, Message: "there is no named " + r.what + " \"" + name + "\"", Hint: "it may have been idle for too long, or the server was restarted: create it"}
	case !found:
		refused = r.makeRoom(size, 1)
	}
	if refused != nil {
		r.mu.Unlock()
		return nil, false, r.orElsewhere(name, refused)
	}
	if !found {
		n = &named[T]{name: name, made: make(chan struct{})}
		r.mu.byName[name] = n
		r.mu.bytes += size
	}
	n.users++
	r.mu.Unlock()
	if found {
		<-n.made
		if n.err != nil {
			r.leave(n)
			return nil, false, n.err
		}
		return n, false, nil
	}
	if n.err = r.claim(n); n.err == nil {
		n.object, n.err = create()
	}
	close(n.made)
	if n.err != nil {
		r.mu.Lock()
		r.mu.bytes -= size
		r.mu.Unlock()
		r.leave(n)
		return nil, false, n.err
	}
	return n, true, nil
}

// take counts size bytes more of an object that is being made: below 0, less.
func (r *registry[T]) take(size int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if refused := r.makeRoom(size, 0); refused != nil {
		return refused
	}
	r.mu.bytes += size
	return nil
}

// makeRoom deletes idle objects until there is room for size bytes and names more. mu is held.
func (r *registry[T]) makeRoom(size int64, names int) *wire.Error {
	if r.mu.closed {
		return reject(wire.CodeDraining, "the server shuts down")
	}
	full := func() bool { return size > r.limit-r.mu.bytes || len(r.mu.byName)+names > maxNamed }
	if full() {
		for _, n := range r.idle() {
			r.remove(n)
			if !full() {
				break
			}
		}
	}
	if full() {
		return &wire.Error{
			Code: wire.CodeQuota, Message: "named objects that are in use leave no room", Hint: "release or delete named buffers and plans, or raise the server's limit",
		}
	}
	return nil
}

// idle returns the objects without a user, the least recently used first. mu is held.
func (r *registry[T]) idle() []*named[T] {
	var list []*named[T]
	for _, n := range r.mu.byName {
		if n.users == 0 {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b *named[T]) int { return a.used.Compare(b.used) })
	return list
}

// remove frees an object without a user. mu is held.
func (r *registry[T]) remove(n *named[T]) {
	if r.mu.byName[n.name] == n {
		r.forget(n.name)
	}
	if n.err == nil {
		r.mu.bytes -= n.object.size()
		n.object.free()
	}
}

// leave ends one use of an object.
func (r *registry[T]) leave(n *named[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.users--
	n.used = time.Now()
	if n.users > 0 {
		return
	}
	if n.deleted || n.err != nil || r.mu.closed {
		r.remove(n)
		return
	}
	if r.mu.timer == nil {
		r.mu.timer = time.AfterFunc(r.idleFor, r.sweep)
	}
}

// sweep deletes what was idle for long enough. It runs while there are idle objects.
func (r *registry[T]) sweep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.timer = nil
	for _, n := range r.idle() {
		if left := r.idleFor - time.Since(n.used); left > 0 && !r.mu.closed {
			r.mu.timer = time.AfterFunc(left, r.sweep)
			return
		}
		r.remove(n)
	}
}

// deleteName ends a name. Sessions that use the object keep it.
func (r *registry[T]) deleteName(name string) error {
	r.mu.Lock()
	n, found := r.mu.byName[name]
	if !found {
		r.mu.Unlock()
		return r.orElsewhere(name, reject(wire.CodeNotFound, "there is no named %s %q", r.what, name))
	}
	defer r.mu.Unlock()
	r.forget(name)
	n.deleted = true
	if n.users == 0 {
		r.remove(n)
	}
	return nil
}

// forget frees a name. mu is held, so that the names of other processes change in the order
// of these.
func (r *registry[T]) forget(name string) {
	delete(r.mu.byName, name)
	if r.names != nil {
		r.names.Drop(name)
	}
}

// claim makes a name one of this process. It returns an error where another one has it.
func (r *registry[T]) claim(n *named[T]) error {
	if r.names == nil {
		return nil
	}
	owner, err := r.names.Claim(n.name)
	if err == nil && owner >= 0 {
		err = otherDevice(n.name, owner)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.deleted && r.mu.byName[n.name] == nil { // meanwhile
		r.names.Drop(n.name)
	}
	return err
}

// orElsewhere returns err, or the error of an object that another process has.
func (r *registry[T]) orElsewhere(name string, err *wire.Error) error {
	if r.names == nil || err.Code != wire.CodeNotFound {
		return err
	}
	switch owner, failed := r.names.Find(name); {
	case failed != nil:
		return failed
	case owner >= 0:
		return otherDevice(name, owner)
	}
	return err
}

// close frees all objects. No session is left.
func (r *registry[T]) close() {
	r.mu.Lock()
	r.mu.closed = true
	if r.mu.timer != nil {
		r.mu.timer.Stop()
	}
	r.mu.Unlock()
	r.sweep()
}

// count returns the number and the bytes of all objects.
func (r *registry[T]) count() (n int, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.byName), r.mu.bytes
}

// deleteName handles a delete request.
func (s *session) deleteName(b []byte) (wire.Message, error) {
	var m wire.Delete
	if err := m.Decode(b); err != nil {
		return nil, err
	}
	switch m.Kind {
	case wire.KindBuffer:
		return &wire.Empty{}, s.server.buffers.deleteName(string(m.Name))
	case wire.KindPlan:
		return &wire.Empty{}, s.server.plans.deleteName(string(m.Name))
	}
	return nil, errors.New("only buffers and plans have names")
}
