package remotetest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/internal/servers"
	"github.com/shadercache/shadercache/shader"
)

// The network of Resume: a connection stalls before half of the pack is there, so that no
// process is fast enough for all of it.
const (
	stallAfter  = 300_000
	processTime = 200 * time.Millisecond
	maxStarts   = 60
)

// Resume pulls a pack by processes that are shorter than its transfer. server is the address
// of a server, and urlAt the URL of its remote at another one. Credentials are in the
// environment.
func Resume(t *testing.T, server string, urlAt func(address string) string) {
	t.Helper()
	writer, _ := keyPair(urlAt(server))
	from := machine(t)
	putNoise(t, from, 10, 2*stallAfter/10)
	pushed, err := on(t, from, writer).Push(t.Context(), fleet.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	proxy := servers.StartProxy(t, server)
	proxy.Set(servers.Faults{After: stallAfter, Then: servers.Stall})
	to := machine(t)
	if err := os.MkdirAll(to.DriverDir(), 0o700); err != nil { // as a context makes it
		t.Fatal(err)
	}
	_, o := keyPair(urlAt(proxy.Address))
	o.Budget = 20 * time.Millisecond
	starts := 0
	for outcome := fleet.Late; outcome != fleet.Current && !t.Failed(); starts++ {
		outcome = shortProcess(t, to, o)
		if starts > maxStarts {
			t.Errorf("after %d starts the pack is not there", starts)
		}
	}
	counted := on(t, to, o).Counters()
	if counted.Backfills != 10 || counted.Bytes > pushed.Bytes*5/4 {
		t.Errorf("%d programs by %d bytes, of a pack of %d", counted.Backfills, counted.Bytes, pushed.Bytes)
	}
	if starts < 3 {
		t.Errorf("%d starts: none was shorter than the transfer", starts)
	}
	t.Logf("%d starts fetched %d bytes, of a pack of %d", starts, counted.Bytes, pushed.Bytes)
}

// shortProcess starts as a process does, and ends soon.
func shortProcess(t *testing.T, d *binary.Dir, o fleet.Options) fleet.Outcome {
	t.Helper()
	r, err := fleet.Open(d, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Prepare()
	report := r.Start(t.Context(), driver)
	if report.Outcome == fleet.Late {
		time.Sleep(processTime)
	} else if report.Outcome != fleet.Current {
		t.Errorf("%+v", report)
	}
	return report.Outcome
}

// putNoise adds programs that cannot be compressed.
func putNoise(t *testing.T, d *binary.Dir, n, size int) {
	t.Helper()
	store, err := d.Store(driver)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	all := noise(n * size)
	for i := range n {
		s := shader.MustSource(fmt.Sprintf("noise_%d", i), fmt.Sprintf("void main() { /* %d */ }", i), nil)
		err := store.Put(&binary.Blob{
			Key: s.Key(), Fingerprint: driver.Digest(), Format: driver.Formats[0],
			Payload: all[i*size : (i+1)*size], Name: s.Name(), WorkGroup: [3]uint32{64, 1, 1},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
