//go:build linux

package systemtest_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/trace"
)

// TestAServerAndItsClientAreTraced runs a job through shadercache serve --trace: the client's
// tracer has what its process waited for, and the server's file, which is written when it
// ends, the steps of the job and the start of the worker.
func TestAServerAndItsClientAreTraced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "server.json")
	s := startServer(t, "--trace", path)
	recorder := trace.NewRecorder(0)
	d, err := shadercache.Connect(t.Context(), shadercache.Options{Server: s.path, Tracer: recorder})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Get(t.Context(), traced)
	if err != nil {
		t.Fatal(err)
	}
	in, out := []uint32{1, 2, 3, 4}, make([]uint32, 4)
	b, err := d.NewBuffer(t.Context(), 16)
	if err == nil {
		_, err = b.Write(t.Context(), 0, glctx.Bytes(in))
	}
	if err == nil {
		err = d.Run(t.Context(), &shadercache.Job{Dispatch: shadercache.Dispatch{Program: p, Groups: [3]uint32{1, 1, 1}, Buffers: []shadercache.Bound{{Binding: 0, Buffer: b}}}})
	}
	if err == nil {
		_, err = b.Read(t.Context(), 0, glctx.Bytes(out))
	}
	if err != nil || out[0] != 20 || out[3] != 23 {
		t.Fatal(err, out)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	wantEvents(t, recorder.Recording(), trace.Server, "", trace.Connect, trace.Send, trace.Await)
	wantEvents(t, recorder.Recording(), trace.Requests, "traced", trace.Get)

	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	<-s.done
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := trace.ReadChrome(file)
	if err != nil {
		t.Fatal(err)
	}
	wantEvents(t, r, trace.Server, "traced", trace.Serve)
	wantEvents(t, r, trace.Server, "", trace.Queue, trace.Check, trace.Turn, trace.Accept, trace.Run, trace.Deliver, trace.Reply)
	wantEvents(t, r, trace.Process, "", trace.OpenContext)
}
