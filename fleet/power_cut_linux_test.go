package fleet_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/internal/powercut"
	"github.com/shadercache/shadercache/trace"
)

func init() {
	children["start"] = startBeforeCut
}

// startBeforeCut starts and closes. With REMOTE_TEST_KILL_AT the process is killed when a pack was
// installed, before Start returns.
func startBeforeCut(dir, url string) error {
	d, err := binary.OpenDir(dir)
	if err != nil {
		return err
	}
	o := reader(url)
	if os.Getenv("REMOTE_TEST_KILL_AT") != "" {
		o.Tracer = dieAfterPack{}
	}
	r, err := fleet.Open(d, o)
	if err != nil {
		return err
	}
	if report := r.Start(context.Background(), mesaDriver); report.Outcome != fleet.Pulled {
		return fmt.Errorf("%+v", report)
	}
	return r.Close()
}

type dieAfterPack struct{}

func (dieAfterPack) Event(e trace.Event) {
	if e.Name == trace.Pack {
		die()
	}
}

// TestPowerCutAfterAStart cuts the power when a start has pulled, and its record is on the disk: what it
// brought of Mesa is whole, or is brought again. Mesa itself never replaces an empty file.
func TestPowerCutAfterAStart(t *testing.T) {
	v := powercut.NewVolume(t)
	url, from, dir := fileURL(t), openDir(t), filepath.Join(v.Dir(), "cache")
	put(t, from, mesaDriver, 1, 2)
	push(t, from, writer(url))
	must(t, os.Mkdir(dir, 0o700))
	must(t, exec.Command("sync", "-f", dir).Run())
	v.Cut(powercut.Everything)
	saved := v.Save()
	for _, killed := range []bool{false, true} {
		v.Restore(saved)
		c := child(t, "start", dir, url)
		if killed {
			c = child(t, "start", dir, url, "REMOTE_TEST_KILL_AT=1")
		}
		if out, err := c.CombinedOutput(); killed != (err != nil) {
			t.Fatalf("killed %t: %v, %s", killed, err, out)
		}
		states, err := filepath.Glob(filepath.Join(dir, "remote", "*", "*", "state.json"))
		if err != nil || len(states) != 1 {
			t.Fatal(states, err)
		}
		must(t, exec.Command("sync", states[0]).Run())
		v.Cut(powercut.Data)
		d, err := binary.OpenDir(dir)
		must(t, err)
		for _, present := range []int{0, 1} {
			r, err := fleet.Open(d, reader(url))
			must(t, err)
			fleet.SetClock(r, func() time.Time { return time.Now().Add(osfile.Uptime() + time.Minute) }) // the system starts anew
			report, err := r.Pull(t.Context(), fleet.PullOptions{Current: &mesaDriver})
			must(t, err)
			must(t, r.Close())
			if report.Present < present {
				t.Errorf("killed %t: the pull after it: %+v", killed, report)
			}
			for n := range 2 {
				name := fmt.Sprintf("driver/mesa/mesa_shader_cache/%02x/%038x", n+1, n+1)
				if data := readFile(t, d, name); string(data) != fmt.Sprintf("code %d", n+1) {
					t.Errorf("killed %t: entry %d is %q", killed, n+1, data)
				}
			}
		}
		wantPrograms(t, d, mesaDriver, 1, 2)
	}
}
