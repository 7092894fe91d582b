//go:build linux

package server_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/shader"
)

// thirds writes 7 to every third word of its output.
var thirds = shader.MustSource("thirds", `
layout(local_size_x = 64) in;
layout(std430, binding = 1) restrict writeonly buffer Out { uint y[]; };
void main() { uint i = 3u * gl_GlobalInvocationID.x; if (i < y.length()) y[i] = 7u; }`, nil)

const secret = 0x5EC4E7

// TestNoSessionFindsWhatAnotherLeft has sessions that fill every kind of memory with a secret
// and release it, and then one that reads what it has not written, by every way.
func TestNoSessionFindsWhatAnotherLeft(t *testing.T) {
	for name, o := range map[string]server.Options{"in place": {}, "copied": {CopyMemory: true}} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, o)
			for _, ring := range []int{0, 64 << 10} {
				open := f.dialWith(client.Options{Ring: ring})
				leaveSecrets(t, open) // and stays
				gone := f.dialWith(client.Options{Ring: ring})
				leaveSecrets(t, gone)
				gone.Close()
				c := f.dialWith(client.Options{Ring: ring})
				p := program(t, c, thirds)
				for _, words := range secretSizes {
					wantNoSecrets(t, c, p, words)
				}
			}
		})
	}
}

// secretSizes are words of operands: by the socket, in a slot, and larger than one.
var secretSizes = []int{1, 63, 1000, 20 << 10, 64 << 10, 1 << 20}

// leaveSecrets fills inputs, outputs, buffers and shared memory with the secret.
func leaveSecrets(t testing.TB, c *client.Client) {
	t.Helper()
	p := program(t, c, affine)
	for _, words := range secretSizes {
		for range 4 { // all slots
			in := bytes.Repeat(secretWord(), words)
			m := newMemory(t, c, 8*words+64)
			copy(m.Bytes(), in)
			for _, j := range []*job.Job{
				{Inputs: []job.Input{{Data: in}}, Outputs: []job.Output{{Binding: 1, To: make([]byte, 4*words)}}},
				{Inputs: []job.Input{{Data: m.Bytes()[:4*words]}}, Outputs: []job.Output{{Binding: 1, To: m.Bytes()[4*words+4:][:4*words]}}},
			} {
				j.Dispatch = job.Dispatch{
					Program: p, Groups: [3]uint32{uint32(words+63) / 64, 1, 1}, Uniforms: []job.Uniform{job.Uint("a", 1), job.Uint("b", 0)},
				}
				if err := submitAndWait(t.Context(), c, j); err != nil {
					t.Fatal(err)
				}
			}
			m.Release()
			for _, name := range []string{"", fmt.Sprint("secret ", words)} {
				b := newBuffer(t, c, name, 4*words)
				if _, err := b.Write(t.Context(), 0, in); err != nil {
					t.Fatal(err)
				}
				b.Release()
				if name != "" {
					_ = c.DeleteBuffer(t.Context(), name)
				}
			}
		}
	}
}

func secretWord() []byte { return words(1, func(uint32) uint32 { return secret }) }

// newBuffer makes a buffer, with a name or without.
func newBuffer(t testing.TB, c *client.Client, name string, size int) (b job.Buffer) {
	t.Helper()
	var err error
	if name == "" {
		b, err = c.NewBuffer(t.Context(), size)
	} else {
		b, err = c.NamedBuffer(t.Context(), name, size)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantNoSecrets reads that many words in each way: what no kernel has written is zero.
func wantNoSecrets(t testing.TB, c *client.Client, p job.Program, n int) {
	t.Helper()
	size := 4 * n
	third := words(n, func(i uint32) uint32 {
		if i%3 == 0 {
			return 7
		}
		return 0
	})
	m := newMemory(t, c, 3*size)
	for k := range m.Bytes() {
		m.Bytes()[k] = 0xA5
	}
	for way, to := range map[string]job.Output{
		"the client's": {To: bytes.Repeat([]byte{0xA5}, size)}, "in place": {To: m.Bytes()[:size]}, "in memory": {To: m.Bytes()[size+4:][:size]},
	} {
		to.Binding = 1
		j := &job.Job{Dispatch: job.Dispatch{Program: p, Groups: [3]uint32{uint32(n+191) / 192, 1, 1}}, Outputs: []job.Output{to}}
		if err := submitAndWait(t.Context(), c, j); err != nil {
			t.Fatal(err)
		}
		got := to.To
		if !bytes.Equal(got, third) {
			t.Errorf("an output of %d words, %s, has what no kernel wrote: %x", n, way, got[:min(size, 32)])
		}
	}
	for _, name := range []string{"", fmt.Sprint("secret ", n)} {
		b, got := newBuffer(t, c, name, size), bytes.Repeat([]byte{0xA5}, size)
		if _, err := b.Read(t.Context(), 0, got); err != nil || !bytes.Equal(got, make([]byte, size)) {
			t.Errorf("a new buffer %q of %d words: %v, %x", name, n, err, got[:min(size, 32)])
		}
		b.Release()
		if name != "" {
			_ = c.DeleteBuffer(t.Context(), name)
		}
	}
}
