//go:build linux

package server

import (
	"bytes"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// library is the newest program of each name that a session gave. It may be used from any
// goroutine.
type library struct {
	mu struct {
		sync.Mutex
		sources *simplelru.LRU[string, *shader.Source]
		bytes   int // of their texts
	}
}

const (
	maxSources     = 4096
	maxSourceBytes = 32 << 20
)

func newLibrary() *library {
	l := &library{}
	sources, err := simplelru.NewLRU(maxSources, func(_ string, s *shader.Source) { l.mu.bytes -= len(s.Text()) })
	if err != nil {
		panic(err) // of a size that is not positive
	}
	l.mu.sources = sources
	return l
}

func (l *library) find(name string) (*shader.Source, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.sources.Get(name)
}

func (l *library) add(s *shader.Source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.sources.Remove(s.Name()) // Add would replace it without the callback
	l.mu.bytes += len(s.Text())
	l.mu.sources.Add(s.Name(), s)
	for l.mu.bytes > maxSourceBytes {
		l.mu.sources.RemoveOldest()
	}
}

// openProgram is a program of a session.
type openProgram struct{ job.Program }

func (openProgram) kind() wire.Kind    { return wire.KindProgram }
func (p openProgram) close(_ *objects) { p.Release() }

// program gets a program for the session.
func (s *session) program(t *task, m *wire.Program) (wire.Message, error) {
	source, err := s.server.sourceOf(m)
	if err != nil {
		return nil, err
	}
	program, err := s.server.programs.Get(t.context(), source)
	if err != nil {
		return nil, err
	}
	if m.Form != wire.FormName {
		t.named = source
	}
	s.objects.add(m.ID, openProgram{program})
	return &wire.ProgramReply{Key: program.Key(), Origin: uint8(program.Origin()), Interface: program.Interface()}, nil
}

// sourceOf returns the source that a request gives or names.
func (s *Server) sourceOf(m *wire.Program) (*shader.Source, error) {
	name := string(m.Name)
	if m.Form != wire.FormSource && len(m.Defines) > 0 {
		return nil, reject(wire.CodeInvalid, "defines are for programs by source")
	}
	switch m.Form {
	case wire.FormName:
		if len(m.Text) > 0 {
			return nil, reject(wire.CodeInvalid, "a program by name has no text")
		}
		source, ok := s.library.find(name)
		if !ok {
			return nil, &wire.Error{Code: wire.CodeNotFound, Message: "the server has no program " + name, Hint: "send its source"}
		}
		return source, nil
	case wire.FormFinal:
		if bytes.IndexByte(m.Text, 0) >= 0 {
			return nil, reject(wire.CodeInvalid, "the text of program %q contains a NUL byte", name)
		}
		return shader.NewFinalSource(name, string(m.Text), []string{name}), nil
	}
	defines := shader.Defines{}
	for _, d := range m.Defines {
		defines[string(d.Name)] = string(d.Value)
	}
	return shader.NewSource(name, string(m.Text), defines)
}
