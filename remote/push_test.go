package remote_test

import (
	"testing"

	"github.com/shadercache/shadercache/binary"
)

func TestPushedProgramsArePulled(t *testing.T) {
	t.Parallel()
	for _, driver := range []binary.Fingerprint{nvidiaDriver, mesaDriver} {
		url, from, to := fileURL(t), openDir(t), openDir(t)
		put(t, from, driver, 1, 2, 3)
		if r := push(t, from, writer(url)); r.Heads != 1 || r.Packs != 1 || r.Programs != 3 {
			t.Errorf("push: %+v", r)
		}
		if r := push(t, from, writer(url)); r.Heads != 0 || r.Packs != 0 {
			t.Errorf("a push of nothing new: %+v", r)
		}
		if r := pull(t, to, reader(url), driver); r.Packs != 1 || r.Programs != 3 || r.DriverFiles == 0 {
			t.Errorf("pull: %+v", r)
		}
		wantPrograms(t, to, driver, 1, 2, 3)
		if r := pull(t, to, reader(url), driver); r.Packs != 0 || r.Present != 1 {
			t.Errorf("a pull of nothing new: %+v", r)
		}
		put(t, from, driver, 4)
		if r := push(t, from, writer(url)); r.Programs != 1 {
			t.Errorf("push of one more: %+v", r)
		}
		if r := pull(t, to, reader(url), driver); r.Packs != 1 || r.Programs != 1 {
			t.Errorf("pull of one more: %+v", r)
		}
		wantPrograms(t, to, driver, 1, 2, 3, 4)
	}
}
