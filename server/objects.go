//go:build linux

package server

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// objects are what a session has made or opened, by kind and id. One goroutine uses them.
type objects struct {
	server *Server
	all    [wire.KindTexture + 1]map[uint32]object

	memory, device quota // shared memory; textures, and buffers and plans without a name
	unwaited       int64 // bytes that were released since the last wait: see largeRelease

	// Counts for Status, which other goroutines read.
	total, bytes atomic.Int64

	mu struct { // what was released and may still be used by jobs: it counts until they are done
		sync.Mutex
		begun, done uint64 // jobs, and waits for those of all sessions
		released    []released
		closed      chan struct{} // when released gets empty
	}
}

// released is an object that was released when so many of them had begun.
type released struct {
	object
	begun uint64
}

// object is one of them.
type object interface {
	kind() wire.Kind  // also of the zero object
	close(o *objects) // ends the session's use of it
}

func newObjects(server *Server) *objects {
	o := &objects{server: server}
	for kind := range o.all {
		o.all[kind] = map[uint32]object{}
	}
	limits := &server.options.Limits
	o.memory = quota{what: "shared memory", limit: limits.Memory, all: &o.bytes}
	o.device = quota{what: "buffers, textures and plans", limit: limits.Buffers, all: &o.bytes, together: server.unnamed}
	return o
}

func (o *objects) get(kind wire.Kind, id uint32) (object, error) {
	of, ok := o.all[kind][id]
	if !ok {
		return nil, reject(wire.CodeNotFound, "the session has no %s %d", kindNames[kind], id)
	}
	return of, nil
}

// found returns an object of the session by its id.
func found[T object](o *objects, id uint32) (v T, err error) {
	of, err := o.get(v.kind(), id)
	if err == nil {
		v = of.(T)
	}
	return v, err
}

// Program, Buffer and Texture return objects of the session, for a job.

func (o *objects) Program(id uint32) (job.Program, error) {
	p, err := found[openProgram](o, id)
	return p.Program, err
}

func (o *objects) Texture(id uint32) (job.Texture, error) {
	t, err := found[openTexture](o, id)
	return t.Texture, err
}

func (o *objects) Buffer(id uint32) (job.Bindable, error) {
	b, err := found[*openBuffer](o, id)
	if err != nil {
		return nil, err
	}
	return b.use, nil
}

// admit returns an error where id cannot be the next object of a kind.
func (o *objects) admit(kind wire.Kind, id uint32) error {
	if _, taken := o.all[kind][id]; taken {
		return reject(wire.CodeExists, "the session has a %s %d already", kindNames[kind], id)
	}
	o.mu.Lock()
	count := len(o.all[kind]) + len(o.mu.released)
	o.mu.Unlock()
	if count >= int(o.server.options.Limits.Objects) {
		return &wire.Error{Code: wire.CodeQuota, Message: "the session has as many objects of this kind as it may", Hint: "release some"}
	}
	return nil
}

// add adds an object under an id that was admitted.
func (o *objects) add(id uint32, of object) {
	o.all[of.kind()][id] = of
	o.total.Add(1)
}

// largeRelease is the bytes of the device that a session may release before they count until the GPU has
// done all that it has, also for other sessions: the driver keeps memory while what made it zero, or copied
// it, is behind that.
const largeRelease = 16 << 20

// drop ends the session's use of one object: when the jobs that have begun are done.
func (o *objects) drop(kind wire.Kind, id uint32) error {
	of, err := o.get(kind, id)
	if err != nil {
		return err
	}
	delete(o.all[kind], id)
	o.total.Add(-1)
	if sized, ok := of.(interface{ Bytes() int64 }); ok {
		o.unwaited += sized.Bytes()
	}
	if o.unwaited >= largeRelease && o.server.executor.Queued() > 0 {
		o.unwaited = 0
		o.beginWait()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.done == o.mu.begun {
		of.close(o)
		return nil
	}
	if o.mu.closed == nil {
		o.mu.closed = make(chan struct{})
	}
	o.mu.released = append(o.mu.released, released{of, o.mu.begun})
	return nil
}

// begin counts a job that may use objects of the session.
func (o *objects) begin() {
	o.mu.Lock()
	o.mu.begun++
	o.mu.Unlock()
}

// beginWait has what is released next wait for the jobs of all sessions, as for one of this session. That
// ends with the server, not with the session.
func (o *objects) beginWait() {
	o.begin()
	o.server.ended.Go(func() {
		_ = o.server.executor.Drain(o.server.serving)
		o.end()
	})
}

// end counts the oldest of them as done, and closes what was released before the next one.
func (o *objects) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.done++
	for len(o.mu.released) > 0 && o.mu.released[0].begun <= o.mu.done {
		o.mu.released[0].close(o)
		o.mu.released = o.mu.released[1:]
	}
	if len(o.mu.released) == 0 && o.mu.closed != nil {
		close(o.mu.closed)
		o.mu.closed = nil
	}
}

// settleNamed settles where a request has a name: idle objects of others would make the room else, which
// those that were released leave.
func (s *session) settleNamed(t *task, name []byte) {
	if len(name) > 0 {
		settle(t.context(), s.objects.unsettled())
	}
}

// unsettled returns what is closed when nothing that was released waits for jobs any more; nil where
// nothing does.
func (o *objects) unsettled() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.closed
}

// settle waits for what unsettled returned, and returns false where that is nil.
func settle(ctx context.Context, unsettled <-chan struct{}) bool {
	if unsettled == nil {
		return false
	}
	select {
	case <-unsettled:
		return true
	case <-ctx.Done():
		return false
	}
}

var kindNames = [...]string{
	wire.KindProgram: "program", wire.KindMemory: "memory", wire.KindBuffer: "buffer", wire.KindPlan: "plan",
	wire.KindTexture: "texture",
}

// release ends the use of all objects. Those of the device wait for the jobs of others, together.
func (o *objects) release() {
	o.unwaited = math.MinInt64
	for id := range o.all[wire.KindMemory] {
		_ = o.drop(wire.KindMemory, id) // no job of others uses it
	}
	if o.total.Load() > 0 && o.server.executor.Queued() > 0 {
		o.beginWait()
	}
	for kind, all := range o.all {
		for id := range all {
			_ = o.drop(wire.Kind(kind), id)
		}
	}
}

// sharedMemory is memory that the client shares. Jobs that will write to it hold a
// reference.
type sharedMemory struct {
	bytes  []byte
	inode  uint64
	pinned *executor.Memory // its pages, where the device uses them in place; else nil
	refs   atomic.Int32
}

func (*sharedMemory) kind() wire.Kind { return wire.KindMemory }

func (m *sharedMemory) close(o *objects) {
	o.memory.give(uint64(len(m.bytes)))
	m.release()
}

// memoryOf returns the memory of an operand, or nil.
func (o *objects) memoryOf(op *wire.Operand) *sharedMemory {
	if op.Place != wire.PlaceMemory {
		return nil
	}
	m, _ := found[*sharedMemory](o, op.ID)
	return m
}

func (m *sharedMemory) retain() { m.refs.Add(1) }

// release ends one use. Pinned memory stays mapped until the jobs that bind it are
// complete.
func (m *sharedMemory) release() {
	if m.refs.Add(-1) > 0 {
		return
	}
	if m.pinned != nil {
		m.pinned.Release()
		return
	}
	_ = socket.Unmap(m.bytes)
}

// share returns mapped memory of a client, pinned where the driver can.
func (s *Server) share(bytes []byte, inode uint64) *sharedMemory {
	m := &sharedMemory{bytes: bytes, inode: inode}
	m.retain()
	if !s.zeroCopy {
		return m
	}
	var err error
	m.pinned, err = s.executor.NewPinnedMemory(bytes[:cap(bytes)], func() { go socket.Unmap(bytes) }) // the GL thread has no time for it
	if err != nil {
		s.options.Logger.Debug("memory is copied: it cannot be pinned", "bytes", len(bytes), "reason", err)
	}
	return m
}

// memory maps the memory of a client.
func (s *session) memory(t *task, m *wire.Memory) (wire.Message, error) {
	o := s.objects
	if err := o.memory.take(m.Size); err != nil {
		return nil, err
	}
	bytes, err := socket.Map(t.files[0], m.Size)
	if err != nil {
		o.memory.give(m.Size)
		return nil, err
	}
	var info unix.Stat_t
	_ = unix.Fstat(t.files[0], &info) // of a memfd, which Map has looked at: it does not fail
	o.add(m.ID, s.server.share(bytes, info.Ino))
	return &wire.Empty{}, nil
}

// within returns the range of an operand in memory.
func within(memory []byte, o *wire.Operand) ([]byte, error) {
	if o.Offset > uint64(len(memory)) || o.Size > uint64(len(memory))-o.Offset || o.Size == 0 {
		return nil, reject(wire.CodeInvalid, "%d bytes at %d of memory of %d", o.Size, o.Offset, len(memory))
	}
	return memory[o.Offset : o.Offset+o.Size : o.Offset+o.Size], nil
}
