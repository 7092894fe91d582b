package nvidia

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/shadercache/shadercache/internal/powercut"
)

// mergeVariable is the driver folder that a process merges in place of the tests, beside a living
// process or alone, or in which it drops program 10, as the second variable says.
const (
	mergeVariable = "NVIDIA_TEST_MERGE"
	howVariable   = "NVIDIA_TEST_HOW"
	beside        = "beside"
	drop          = "drop"
)

func init() {
	driver := os.Getenv(mergeVariable)
	if driver == "" {
		return
	}
	// Calls are counted for each thread, so the child has one.
	runtime.LockOSThread()
	var err error
	switch os.Getenv(howVariable) {
	case drop:
		err = Drop(driver, droppedNames(), nil)
	case beside:
		_, err = MergeInto(driver, 0, func(int) bool { return false }, nil)
	default:
		_, err = Merge(driver)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// droppedNames are the records of program 10.
func droppedNames() (list []string) {
	f := files{}
	f.slot(0, 7, programs(10)...)
	for id := range f.records() {
		list = append(list, id.Name())
	}
	return list
}

// TestPowerCut kills a merge, and a drop of records, before each of its writes and cuts
// the power: slot 0 is sound, no record is lost that a sound slot had, and the next merge
// is complete.
func TestPowerCut(t *testing.T) {
	v := powercut.NewVolume(t)
	driver := filepath.Join(v.Dir(), "driver")
	before, kept := files{}, files{}
	before.slot(0, 7, programs(10, 20)...)
	before.slot(1, 7, programs(30, 10)...)
	before.slot(2, 7, programs(40)...)
	before["shadercache3.toc"], before["shadercache3.bin"] = []byte("CDVN"), nil // a driver's that a cut damaged
	kept.slot(0, 7, programs(20, 30, 40)...)
	before.writeTo(t, driver)
	must(t, exec.Command("sync", "-f", driver).Run())
	v.Cut(powercut.Everything)
	saved := v.Save()

	step := 131
	if os.Getenv("SHADERCACHE_SOAK") == "1" {
		step = 1
	}
	for _, loss := range []powercut.Loss{powercut.Everything, powercut.Data} {
		for _, how := range []string{"alone", beside, drop} {
			killed, n := true, 1
			for ; killed && !t.Failed(); n += step {
				v.Restore(saved)
				child := exec.Command(os.Args[0])
				child.Env = append(os.Environ(), mergeVariable+"="+driver, howVariable+"="+how)
				killed = powercut.RunUntil(t, n, child)
				v.Cut(loss)
				wantAfterCut(t, driver, how == drop, before.records(), kept.records())
				if t.Failed() {
					t.Logf("loss %d, %s, before call %d", loss, how, n)
				}
			}
			t.Logf("loss %d, %s: cuts before each %d of %d calls", loss, how, step, n)
		}
	}
}

func wantAfterCut(t *testing.T, driver string, dropped bool, before, kept map[RecordID]string) {
	t.Helper()
	f := readFiles(t, driver)
	if _, there := f["shadercache0.toc"]; !dropped && !f.valid(0) || there && !f.valid(0) {
		t.Error("slot 0 is not sound")
	}
	wantRecords(t, "after the cut", f.records(), before, kept)
	if _, err := Merge(driver); err != nil {
		t.Error(err)
	}
	wantRecords(t, "after a merge", readFiles(t, driver).records(), before, kept)
}

// wantRecords checks that all of kept are there, and nothing that was not before.
func wantRecords(t *testing.T, when string, got, before, kept map[RecordID]string) {
	t.Helper()
	for id, data := range kept {
		if got[id] != data {
			t.Errorf("%s: record %v is %q, should be %q", when, id, got[id], data)
		}
	}
	maps.DeleteFunc(got, func(id RecordID, data string) bool { return before[id] == data })
	if len(got) > 0 {
		t.Errorf("%s: records that were not there: %v", when, got)
	}
}
