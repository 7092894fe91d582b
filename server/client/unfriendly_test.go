//go:build linux

package client

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// unfriendly is a client of a server that welcomes it and answers each request with what answer
// returns, and with files.
func unfriendly(t *testing.T, answer func(h wire.Header) (wire.Type, wire.Message), files ...*os.File) *Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "scs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		u, err := l.Accept()
		if err != nil {
			return
		}
		conn, err := socket.NewConn(u.(*net.UnixConn), nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for {
			h, _, err := conn.Next()
			if err != nil {
				return
			}
			typ, m := answer(h)
			if h.Type == wire.TypeHello {
				typ, m = h.Type|wire.ReplyBit, &wire.Welcome{Version: wire.Version, Limits: wire.Limits{
					Jobs: 4, Objects: 4, Memory: 1, Buffers: 1, Named: 1, Deadline: 1e9, Longest: 1e9,
				}, Jobs: oneGroup}
			}
			frame, err := wire.AppendFrame(nil, typ, h.Request, m)
			if err != nil || conn.Write(frame, files...) != nil {
				return
			}
		}
	}()
	c, err := Dial(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// oneGroup allows a work group along each axis, and a page of storage.
var oneGroup = job.Limits{MaxGroups: [3]int32{1, 1, 1}, MaxStorage: 4096}

// madeProgram is a program that writes the blocks at 0 and 1.
func madeProgram(c *Client) *Program {
	return &Program{object: object{c: c, id: 1}, reply: wire.ProgramReply{Interface: shader.Interface{
		WorkGroup: [3]uint32{1, 1, 1}, Resources: []shader.Resource{{Kind: shader.StorageBuffer, Name: "A"}, {Kind: shader.StorageBuffer, Name: "B", Binding: 1}},
	}}}
}

// TestRepliesThatDoNotFit: of another type, with fewer or more outputs than were asked for, and with
// none of the fields. Each is ErrMalformed, and nothing is taken for a result.
func TestRepliesThatDoNotFit(t *testing.T) {
	submit := func(c *Client) error {
		pending, err := c.Submit(t.Context(), &job.Job{
			Dispatch: job.Dispatch{Program: madeProgram(c), Groups: [3]uint32{1, 1, 1}}, Outputs: []job.Output{{To: make([]byte, 8)}, {Binding: 1, To: make([]byte, 8)}},
		})
		if err != nil {
			return err
		}
		return pending.Wait(t.Context())
	}
	buffer := func(c *Client) error { _, err := c.NewBuffer(t.Context(), 4); return err }
	write := func(c *Client) error {
		b := &Buffer{object: object{c: c}, reply: wire.BufferReply{Size: 4}}
		_, err := b.Write(t.Context(), 0, make([]byte, 4))
		return err
	}
	for name, c := range map[string]struct {
		typ  wire.Type
		body wire.Message
		call func(*Client) error
		fits bool
	}{
		"a job of 16 bytes":      {wire.TypeJob | wire.ReplyBit, &wire.Data{Data: make([]byte, 16)}, submit, true},
		"15 bytes":               {wire.TypeJob | wire.ReplyBit, &wire.Data{Data: make([]byte, 15)}, submit, false},
		"17 bytes":               {wire.TypeJob | wire.ReplyBit, &wire.Data{Data: make([]byte, 17)}, submit, false},
		"no bytes":               {wire.TypeJob | wire.ReplyBit, &wire.Data{}, submit, false},
		"a run":                  {wire.TypeRun | wire.ReplyBit, &wire.Data{Data: make([]byte, 16)}, submit, false},
		"a request":              {wire.TypeJob, &wire.Data{Data: make([]byte, 16)}, submit, false},
		"an empty body":          {wire.TypeJob | wire.ReplyBit, &wire.Empty{}, submit, false},
		"a copy":                 {wire.TypeCopy | wire.ReplyBit, &wire.CopyReply{}, write, true},
		"a copy with bytes":      {wire.TypeCopy | wire.ReplyBit, &wire.CopyReply{Data: make([]byte, 4)}, write, false},
		"a buffer":               {wire.TypeBuffer | wire.ReplyBit, &wire.BufferReply{Size: 4}, buffer, true},
		"half a buffer":          {wire.TypeBuffer | wire.ReplyBit, &wire.BufferReply{Size: 2}, buffer, false},
		"a buffer without end":   {wire.TypeBuffer | wire.ReplyBit, &wire.BufferReply{Size: 1 << 63}, buffer, false},
		"memory":                 {wire.TypeMemory | wire.ReplyBit, &wire.BufferReply{Size: 4}, buffer, false},
		"an error without code":  {wire.TypeError, &wire.Error{}, buffer, false},
		"an error without texts": {wire.TypeError, &wire.Empty{}, buffer, false},
	} {
		err := c.call(unfriendly(t, func(wire.Header) (wire.Type, wire.Message) { return c.typ, c.body }))
		if c.fits && err != nil || !c.fits && !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDescriptorsNobodyAskedFor are closed with the session: the last one of a pipe's writing end
// lets its reader see the end.
func TestDescriptorsNobodyAskedFor(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := unfriendly(t, func(h wire.Header) (wire.Type, wire.Message) { return h.Type | wire.ReplyBit, &wire.Data{} }, w)
	for range 3 {
		if _, err := c.Status(t.Context()); err != nil {
			t.Error(err)
		}
	}
	w.Close()
	c.Close()
	if err := r.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("%d bytes, %v: a descriptor is open", n, err)
	}
}

// TestOperandsInMemory: a part of shared memory is used there, and what is not wholly in it is not.
func TestOperandsInMemory(t *testing.T) {
	around := make([]byte, 96)
	c := &Client{}
	m := &Memory{object: object{c: c, id: 7}, bytes: around[16:80]}
	c.memories.list = []*Memory{m}
	for _, of := range []struct {
		from, to int
		fits     bool
	}{
		{16, 80, true}, {79, 80, true}, {20, 24, true}, {15, 80, false}, {16, 81, false}, {79, 81, false}, {80, 81, false}, {0, 16, false}, {0, 96, false}, {20, 20, false},
	} {
		operand, ok := c.shared(around[of.from:of.to])
		want := wire.Operand{Place: wire.PlaceMemory, ID: 7, Offset: uint64(of.from - 16), Size: uint64(of.to - of.from)}
		if ok != of.fits || ok && !reflect.DeepEqual(operand, want) {
			t.Errorf("bytes %d to %d: %+v, %v", of.from, of.to, operand, ok)
		}
	}
	if operand, ok := c.shared(nil); ok {
		t.Errorf("nothing: %+v", operand)
	}
}

// TestJobsThatNoFrameHas have names or lists that the protocol cannot carry: a server would end the
// session for one.
func TestJobsThatNoFrameHas(t *testing.T) {
	long := strings.Repeat("x", wire.MaxText+1)
	const name, list = "UTF-8 of at most 255 is possible", "at most 65535 inputs, uniforms and blocks can be sent"
	c := &Client{}
	for what, change := range map[string]func(*job.Job) string{
		"a uniform": func(j *job.Job) string { j.Uniforms = []job.Uniform{job.Int(long, 1)}; return name },
		"an image":  func(j *job.Job) string { j.Then[0].Images = []job.Image{{Name: long}}; return name },
		"a sampler": func(j *job.Job) string { j.Textures = []job.Sampled{{Name: "a\xFF"}}; return name },
		"inputs":    func(j *job.Job) string { j.Inputs = make([]job.Input, 1<<16); return list },
		"uniforms":  func(j *job.Job) string { j.Then[0].Uniforms = make([]job.Uniform, 1<<16+1); return list },
		"blocks":    func(j *job.Job) string { j.Blocks = make([]job.Block, 1<<17); return list },
	} {
		j := &job.Job{Dispatch: job.Dispatch{Program: madeProgram(c)}, Then: []job.Dispatch{{Program: madeProgram(c)}}}
		says := change(j)
		if err := c.check(j); !errors.Is(err, job.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
