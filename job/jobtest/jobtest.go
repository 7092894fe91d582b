// Package jobtest has what every job.Device has to do, as one table for tests: yours too, of
// a device of your own. A case has the same results on every device, and the same errors, at
// the same call and with the same text but for a prefix.
package jobtest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// Device is one that the table runs against.
type Device struct {
	Name string

	// Open opens the device, and fails the test where it cannot. It has the test close it.
	Open func(t *testing.T) job.Device
}

// testCase is one line of the table.
type testCase struct {
	name  string
	do    func(r *run)
	fresh bool // the case ends the device
}

// Run runs every case on every device, and compares what they did with what the first did.
func Run(t *testing.T, devices ...Device) {
	opened := make([]job.Device, len(devices))
	for i, d := range devices {
		opened[i] = d.Open(t)
	}
	for _, c := range slices.Concat(results(), bindings(), uniforms(), counters(), textures(), buffers(), versions(), lifetimes(), limits(), refused(), ends()) {
		c.run(t, devices, opened)
	}
}

// RunLost runs the case of a device that is lost, in a process whose driver loses the context
// at each dispatch of a program with the word "victim".
func RunLost(t *testing.T, devices ...Device) { lost.run(t, devices, nil) }

// run runs a case on every device.
func (c *testCase) run(t *testing.T, devices []Device, opened []job.Device) {
	t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
		var first []string
		for i, d := range devices {
			t.Run(d.Name, func(t *testing.T) {
				r := &run{T: t}
				if c.fresh {
					r.Device = d.Open(t)
				} else {
					r.Device = opened[i]
				}
				c.do(r)
				if i == 0 {
					first = r.lines
				} else if !slices.Equal(r.lines, first) && !t.Failed() {
					t.Errorf("%s did\n\t%s\nand %s\n\t%s", d.Name, strings.Join(r.lines, "\n\t"), devices[0].Name, strings.Join(first, "\n\t"))
				}
			})
		}
	})
}

// run is a case on one device.
type run struct {
	*testing.T
	job.Device
	lines []string // what it did, the same on every device
}

func (r *run) note(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// ok fails the test for an error.
func (r *run) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// fails notes an error, and fails the test for one that does not match want or does not say
// what it is to say.
func (r *run) fails(what string, err, want error, says ...string) {
	r.Helper()
	if !errors.Is(err, want) {
		r.Errorf("%s: %v, want one that matches: %v", what, err, want)
		return
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			r.Errorf("%s: the error %q does not say %q", what, err, s)
		}
	}
	r.note("%s: %s", what, plain(err))
}

// prefixes are what devices put before the text of an error: the layers that it came through.
var prefixes = regexp.MustCompile(`^(?:(?:executor|cache|glctx|server|client|devices|invalid request|not found|exists already|the buffer has another version|device \d+(?: \([^()]*(?:\([^()]*\))?[^()]*\))?): )+`)

func plain(err error) string { return prefixes.ReplaceAllString(err.Error(), "") }

// refuse submits a job that has to be refused, and then one that is computed.
func (r *run) refuse(j *job.Job, want error, says ...string) {
	r.Helper()
	pending, err := r.Submit(r.Context(), j)
	if err == nil {
		pending.Release()
	}
	r.fails("Submit", err, want, says...)
	r.scale(100)
}

// get returns a program that is released with the test.
func (r *run) get(s *shader.Source) job.Program {
	r.Helper()
	p, err := r.Get(r.Context(), s)
	r.ok(err)
	r.Cleanup(p.Release)
	return p
}

// buffer returns a buffer of words that is released with the test.
func (r *run) buffer(n int, values ...uint32) job.Buffer {
	r.Helper()
	b, err := r.NewBuffer(r.Context(), 4*n)
	r.ok(err)
	r.Cleanup(b.Release)
	if len(values) > 0 {
		_, err = b.Write(r.Context(), 0, bytesOf(values))
		r.ok(err)
	}
	return b
}

// contents notes the bytes of a buffer and its version.
func (r *run) contents(b job.Buffer, offset, n int) {
	r.Helper()
	got := slices.Repeat([]byte{0xA5}, n)
	version, err := b.Read(r.Context(), offset, got)
	r.ok(err)
	r.note("version %d, bytes from %d: %x", version, offset, got)
}

// do runs a job that has to succeed.
func (r *run) do(j *job.Job) {
	r.Helper()
	r.ok(r.Device.Run(r.Context(), j))
}

// submit submits a job that has to be taken.
func (r *run) submit(ctx context.Context, j *job.Job) job.Pending {
	r.Helper()
	p, err := r.Submit(ctx, j)
	r.ok(err)
	return p
}
