package named

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shadercache/shadercache/job"
)

// resource is what a registry keeps.
type resource interface {
	Bytes() int64 // which do not change
	Free()        // called once, when no session uses it and its name is gone
}

// names are those of other processes too: see server.Names.
type names interface {
	Claim(name string) (owner int, err error)
	Find(name string) (owner int, err error)
	Drop(name string)
}

// Registry is the named objects of one kind. They outlive their clients: an idle one is
// deleted after a time, or, the least recently used first, when room is needed. Its
// methods may be called from any goroutine.
type Registry[T resource] struct {
	what    string // that it keeps
	limit   int64
	idleFor time.Duration
	names   names // nil: no other process has objects of this kind

	mu struct {
		sync.Mutex
		byName map[string]*Object[T]
		bytes  int64 // of all, deleted ones in use included
		timer  *time.Timer
		closed bool
	}
}

// Object is one object. Those that use it hold a reference.
type Object[T resource] struct {
	Value   T
	name    string
	made    chan struct{} // closed when object or err is set
	err     error
	users   int
	used    time.Time // when the last user left
	deleted bool      // has no name any more
}

// maxNamed is the most named objects of a kind: the least ones take memory too.
const maxNamed = 16 << 10

// NewRegistry returns a registry of what, of limit bytes at most. What was idle for idleFor is
// deleted; 0: nothing is. others may be nil.
func NewRegistry[T resource](what string, limit int64, idleFor time.Duration, others names) *Registry[T] {
	r := &Registry[T]{what: what, limit: limit, idleFor: idleFor, names: others}
	r.mu.byName = map[string]*Object[T]{}
	return r
}

// Open returns the object of a name, for one more user. Where there is none and create is
// not nil it makes one of size bytes; other callers wait for it, and where it failed ask for
// themselves. Leave ends the use.
func (r *Registry[T]) Open(name string, fresh bool, size int64, create func() (T, error)) (n *Object[T], created bool, err error) {
	r.mu.Lock()
	n, found := r.mu.byName[name]
	var refused error
	switch {
	case found && fresh:
		refused = fmt.Errorf("%w: there is a named %s %q already", job.ErrExists, r.what, name)
	case !found && create == nil:
		refused = r.notFound(name)
	}
	if refused != nil {
		r.mu.Unlock()
		return nil, false, r.orElsewhere(name, refused)
	}
	if !found {
		n = &Object[T]{name: name, made: make(chan struct{})}
		r.mu.byName[name] = n
	}
	n.users++
	r.mu.Unlock()
	if found {
		<-n.made
		if n.err != nil {
			r.Leave(n)
			return r.Open(name, fresh, size, create)
		}
		return n, false, nil
	}
	taken := int64(0)
	if n.err = r.claim(n); n.err == nil { // before idle ones make room
		n.err = r.Take(size)
	}
	if n.err == nil {
		taken = size
		n.Value, n.err = create()
	}
	if n.err != nil {
		r.mu.Lock()
		r.mu.bytes -= taken
		if r.mu.byName[name] == n {
			r.forget(name)
		}
		r.mu.Unlock()
	}
	close(n.made)
	if n.err != nil {
		r.Leave(n)
		return nil, false, n.err
	}
	return n, true, nil
}

// Take counts size bytes more of an object that is being made: below 0, less.
func (r *Registry[T]) Take(size int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if size >= 0 { // else there is room
		if refused := r.makeRoom(size); refused != nil {
			return refused
		}
	}
	r.mu.bytes += size
	return nil
}

// makeRoom deletes idle objects until there is room for size bytes more and for the names: none
// where all of them leave too little. mu is held.
func (r *Registry[T]) makeRoom(size int64) error {
	if r.mu.closed {
		return job.ErrClosed
	}
	bytes, names := r.mu.bytes, len(r.mu.byName)
	full := func() bool { return size > r.limit-bytes || names > maxNamed }
	var idle []*Object[T]
	if full() {
		idle = r.idle()
	}
	dropped := 0
	for ; full() && dropped < len(idle); dropped++ {
		bytes, names = bytes-idle[dropped].Value.Bytes(), names-1
	}
	if full() {
		return fmt.Errorf("%w: named objects that are in use leave no room", job.ErrQuota)
	}
	for _, n := range idle[:dropped] {
		r.remove(n)
	}
	return nil
}

// idle returns the objects without a user, the least recently used first. mu is held.
func (r *Registry[T]) idle() []*Object[T] {
	var list []*Object[T]
	for _, n := range r.mu.byName {
		if n.users == 0 {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b *Object[T]) int { return a.used.Compare(b.used) })
	return list
}

// remove frees an object without a user. mu is held.
func (r *Registry[T]) remove(n *Object[T]) {
	if r.mu.byName[n.name] == n {
		r.forget(n.name)
	}
	if n.err == nil {
		r.mu.bytes -= n.Value.Bytes()
		n.Value.Free()
	}
}

// Leave ends one use of an object.
func (r *Registry[T]) Leave(n *Object[T]) {
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
	if r.mu.timer == nil && r.idleFor > 0 {
		r.mu.timer = time.AfterFunc(r.idleFor, r.sweep)
	}
}

// sweep deletes what was idle for long enough. It runs while there are idle objects.
func (r *Registry[T]) sweep() {
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

// Delete ends a name. Sessions that use the object keep it.
func (r *Registry[T]) Delete(name string) error {
	r.mu.Lock()
	n, found := r.mu.byName[name]
	if !found {
		r.mu.Unlock()
		return r.orElsewhere(name, r.notFound(name))
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
func (r *Registry[T]) forget(name string) {
	delete(r.mu.byName, name)
	if r.names != nil {
		r.names.Drop(name)
	}
}

// claim makes a name one of this process. It returns an error where another one has it.
func (r *Registry[T]) claim(n *Object[T]) error {
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

func (r *Registry[T]) notFound(name string) error {
	return fmt.Errorf("%w: there is no named %s %q", job.ErrNotFound, r.what, name)
}

func otherDevice(name string, owner int) error {
	return fmt.Errorf("%w: the named buffer %q is on device %d of the server", job.ErrOtherDevice, name, owner)
}

// orElsewhere returns err, or the error of an object that another process has.
func (r *Registry[T]) orElsewhere(name string, err error) error {
	if r.names == nil || !errors.Is(err, job.ErrNotFound) {
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

// Close frees all objects. No session is left.
func (r *Registry[T]) Close() {
	r.mu.Lock()
	r.mu.closed = true
	if r.mu.timer != nil {
		r.mu.timer.Stop()
	}
	r.mu.Unlock()
	r.sweep()
}

// Count returns the number and the bytes of all objects.
func (r *Registry[T]) Count() (n int, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.byName), r.mu.bytes
}
