//go:build linux

package client

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// Program is a program that is resident in the server.
type Program struct {
	object
	name  string
	reply wire.ProgramReply
}

// Get gets the program of a source: resident, from the server's cache, or compiled.
// It returns a *shader.CompileError for GLSL that the driver refuses. Release releases it.
func (c *Client) Get(ctx context.Context, source *shader.Source) (job.Program, error) {
	p, err := c.program(ctx, source.Name(), &wire.Program{Form: wire.FormFinal, Name: []byte(source.Name()), Text: []byte(source.Text())})
	if failure, ok := errors.AsType[*Error](err); ok && failure.Code == wire.CodeCompile {
		return nil, &shader.CompileError{Name: source.Name(), Log: failure.Message, Source: source}
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// ProgramByName gets the newest program of a name that a client gave to the server. It
// returns job.ErrNotFound, wrapped, where there is none.
func (c *Client) ProgramByName(ctx context.Context, name string) (*Program, error) {
	return c.program(ctx, name, &wire.Program{Form: wire.FormName, Name: []byte(name)})
}

func (c *Client) program(ctx context.Context, name string, m *wire.Program) (*Program, error) {
	p := &Program{object: c.newObject(wire.KindProgram), name: name}
	m.ID = p.id
	m.Name = []byte(label(string(m.Name)))
	if err := p.make(ctx, wire.TypeProgram, m, &p.reply); err != nil {
		return nil, err
	}
	return p, nil
}

// Name returns the name of the program.
func (p *Program) Name() string { return p.name }

// Key returns the key that identifies the program.
func (p *Program) Key() shader.Key { return shader.Key(p.reply.Key) }

// Interface returns what jobs bind.
func (p *Program) Interface() shader.Interface { return p.reply.Interface }

// WorkGroup returns the size of a work group in x, y and z.
func (p *Program) WorkGroup() [3]uint32 { return p.reply.Interface.WorkGroup }

// Origin returns where the server had the program from.
func (p *Program) Origin() job.Origin { return job.Origin(p.reply.Origin) }
