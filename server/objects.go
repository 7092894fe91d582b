//go:build linux

package server

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// objects are what a session has made or opened, by id. One goroutine uses them.
type objects struct {
	server   *Server
	programs map[uint32]job.Program
	memories map[uint32]*sharedMemory
	buffers  map[uint32]*openBuffer
	plans    map[uint32]*openPlan
	textures map[uint32]openTexture

	memory, device quota // shared memory; textures, and buffers and plans without a name

	// Counts for Status, which other goroutines read.
	total, bytes atomic.Int64
}

func newObjects(server *Server) *objects {
	o := &objects{
		server: server, programs: map[uint32]job.Program{}, memories: map[uint32]*sharedMemory{},
		buffers: map[uint32]*openBuffer{}, plans: map[uint32]*openPlan{}, textures: map[uint32]openTexture{},
	}
	limits := &server.options.Limits
	o.memory = quota{what: "shared memory", limit: limits.Memory, all: &o.bytes}
	o.device = quota{what: "buffers, textures and plans", limit: limits.Buffers, all: &o.bytes, together: server.unnamed}
	return o
}

// found returns an object of the session by its id.
func found[T any](all map[uint32]T, kind wire.Kind, id uint32) (v T, err error) {
	v, ok := all[id]
	if !ok {
		err = notFound(kindNames[kind], id)
	}
	return v, err
}

// Program, Buffer and Texture return objects of the session, for a job.

func (o *objects) Program(id uint32) (job.Program, error) {
	return found(o.programs, wire.KindProgram, id)
}

func (o *objects) Texture(id uint32) (job.Texture, error) {
	return found(o.textures, wire.KindTexture, id)
}

func (o *objects) Buffer(id uint32) (job.Bindable, error) {
	b, err := found(o.buffers, wire.KindBuffer, id)
	if err != nil {
		return nil, err
	}
	return b.use, nil
}

// admit returns an error where id cannot be the next object of a kind.
func admit[T any](o *objects, all map[uint32]T, kind wire.Kind, id uint32) error {
	if _, taken := all[id]; taken {
		return reject(wire.CodeExists, "the session has a %s %d already", kindNames[kind], id)
	}
	if limit := int(o.server.options.Limits.Objects); len(all) >= limit {
		return &wire.Error{Code: wire.CodeQuota, Message: "the session has as many objects of this kind as it may", Hint: "release some"}
	}
	return nil
}

// drop ends the session's use of one object.
func (o *objects) drop(kind wire.Kind, id uint32) (err error) {
	switch kind {
	case wire.KindProgram:
		err = drop(o.programs, kind, id, job.Program.Release)
	case wire.KindMemory:
		err = drop(o.memories, kind, id, o.closeMemory)
	case wire.KindBuffer:
		err = drop(o.buffers, kind, id, o.closeBuffer)
	case wire.KindPlan:
		err = drop(o.plans, kind, id, o.closePlan)
	case wire.KindTexture:
		err = drop(o.textures, kind, id, o.closeTexture)
	}
	if err == nil {
		o.total.Add(-1)
	}
	return err
}

func drop[T any](all map[uint32]T, kind wire.Kind, id uint32, free func(T)) error {
	v, err := found(all, kind, id)
	if err == nil {
		free(v)
		delete(all, id)
	}
	return err
}

func (o *objects) closeMemory(m *sharedMemory) {
	o.memory.give(uint64(len(m.bytes)))
	m.release()
}

var kindNames = map[wire.Kind]string{
	wire.KindProgram: "program", wire.KindMemory: "memory", wire.KindBuffer: "buffer", wire.KindPlan: "plan",
	wire.KindTexture: "texture",
}

// release ends the use of all objects.
func (o *objects) release() {
	dropAll(o, wire.KindProgram, o.programs)
	dropAll(o, wire.KindMemory, o.memories)
	dropAll(o, wire.KindPlan, o.plans)
	dropAll(o, wire.KindBuffer, o.buffers)
	dropAll(o, wire.KindTexture, o.textures)
}

func dropAll[T any](o *objects, kind wire.Kind, all map[uint32]T) {
	for id := range all {
		_ = o.drop(kind, id)
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
	if err := admit(o, o.memories, wire.KindMemory, m.ID); err != nil {
		return nil, err
	}
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
	o.memories[m.ID] = s.server.share(bytes, info.Ino)
	o.total.Add(1)
	return &wire.Empty{}, nil
}

// within returns the range of an operand in memory.
func within(memory []byte, o *wire.Operand) ([]byte, error) {
	if o.Offset > uint64(len(memory)) || o.Size > uint64(len(memory))-o.Offset || o.Size == 0 {
		return nil, reject(wire.CodeInvalid, "%d bytes at %d of memory of %d", o.Size, o.Offset, len(memory))
	}
	return memory[o.Offset : o.Offset+o.Size : o.Offset+o.Size], nil
}
