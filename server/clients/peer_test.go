//go:build linux

package clients_test

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"testing"

	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// peer answers a frame. It writes what the client gets instead of the right answer, or
// returns answered false to have that sent. An error closes the connection.
type peer func(conn net.Conn, h wire.Header, right []byte) (answered bool, err error)

var errHangUp = errors.New("the peer hangs up")

// fakeServer listens like a server that has no GPU: it doubles numbers itself. Before it
// answers a frame it asks the peer, which breaks the protocol.
func fakeServer(t testing.TB, p peer) string {
	t.Helper()
	path := socketPath(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go converse(conn, p)
		}
	}()
	return path
}

// converse answers the frames of a connection until either side ends it.
func converse(conn net.Conn, p peer) {
	defer conn.Close()
	head := make([]byte, wire.HeaderSize)
	for {
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		h, err := wire.ParseHeader(head)
		if err != nil {
			return
		}
		body := make([]byte, h.Size)
		if _, err := io.ReadFull(conn, body); err != nil {
			return
		}
		right, err := rightAnswer(h, body)
		if err != nil {
			return
		}
		answered, err := p(conn, h, right)
		if err == nil && !answered {
			_, err = conn.Write(right)
		}
		if err != nil {
			return
		}
	}
}

// rightAnswer returns the frame with which a server answers.
func rightAnswer(h wire.Header, body []byte) ([]byte, error) {
	message, err := rightReply(h.Type, body)
	if err != nil {
		return nil, err
	}
	return wire.AppendFrame(nil, h.Type|wire.ReplyBit, h.Request, message)
}

func rightReply(typ wire.Type, body []byte) (wire.Message, error) {
	switch typ {
	case wire.TypeHello:
		return &wire.Welcome{
			Version: wire.Version, Session: 1, Generation: 1, Device: []byte("fake"),
			Limits: wire.Limits{Jobs: 256, Objects: 1024, Deadline: 60e9, Longest: 60e9},
		}, nil
	case wire.TypeProgram:
		storage := shader.Resource{Kind: shader.StorageBuffer, Name: "In"}
		return &wire.ProgramReply{Origin: 4, Interface: shader.Interface{WorkGroup: [3]uint32{64, 1, 1}, Resources: []shader.Resource{storage, storage}}}, nil
	case wire.TypeBuffer:
		return &wire.BufferReply{Size: 4096, Version: 1}, nil
	case wire.TypeTexture:
		return &wire.TextureReply{}, nil
	case wire.TypeCopy:
		return &wire.CopyReply{Version: 2}, nil
	case wire.TypePlan:
		return &wire.PlanReply{Created: true, Input: 6, Weights: 6, Output: 4, Layers: []byte("fake\tchosen\t0"), Programs: []byte("fake\tresident")}, nil
	case wire.TypeWeights:
		return &wire.WeightsReply{Uploaded: true}, nil
	case wire.TypeRun:
		return &wire.Data{Data: floats(4, 5, 10, 11)}, nil
	case wire.TypeStatus:
		return &wire.Data{Data: []byte("{}")}, nil
	case wire.TypeJob:
		return doubled(body)
	}
	return &wire.Empty{}, nil
}

// doubled returns the outputs of the program that doubles its only input.
func doubled(body []byte) (wire.Message, error) {
	var job wire.Job
	if err := wire.Decode(body, &job); err != nil {
		return nil, err
	}
	var out []byte
	for in := job.In[0].Operand.Data; len(in) >= 4; in = in[4:] {
		out = append(out, floats(2*math.Float32frombits(binary.LittleEndian.Uint32(in)))...)
	}
	return &wire.Data{Data: out}, nil
}

func floats(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// honest never breaks the protocol.
func honest(net.Conn, wire.Header, []byte) (bool, error) { return false, nil }

// at breaks the protocol where a frame of a type is to be answered.
func at(typ wire.Type, f func(conn net.Conn, h wire.Header, right []byte) error) peer {
	return func(conn net.Conn, h wire.Header, right []byte) (bool, error) {
		if h.Type != typ {
			return false, nil
		}
		return true, f(conn, h, right)
	}
}

// bytesAt answers a type with what f makes of the right frame.
func bytesAt(typ wire.Type, f func(right []byte) []byte) peer {
	return at(typ, func(conn net.Conn, _ wire.Header, right []byte) error {
		_, err := conn.Write(f(right))
		return err
	})
}

// messageAt answers a type with a message in the place of the right one.
func messageAt(typ wire.Type, m wire.Message) peer {
	return at(typ, func(conn net.Conn, h wire.Header, _ []byte) error { return send(conn, typ|wire.ReplyBit, h.Request, m) })
}

// errorAt answers a type with an error.
func errorAt(typ wire.Type, e *wire.Error) peer {
	return at(typ, func(conn net.Conn, h wire.Header, _ []byte) error { return send(conn, wire.TypeError, h.Request, e) })
}

func send(conn net.Conn, typ wire.Type, request uint64, m wire.Message) error {
	frame, err := wire.AppendFrame(nil, typ, request, m)
	if err == nil {
		_, err = conn.Write(frame)
	}
	return err
}
