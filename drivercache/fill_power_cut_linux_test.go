package drivercache

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/shadercache/shadercache/internal/powercut"
)

// TestFillAfterPowerCut cuts the power when a directory was filled: its entries are whole, or are
// filled again.
func TestFillAfterPowerCut(t *testing.T) {
	v := powercut.NewVolume(t)
	dir, from := filepath.Join(v.Dir(), "driver"), filepath.Join(v.Dir(), "upstream")
	const entries = 20
	writeEntries(t, from, 0, entries)
	if err := exec.Command("sync", "-f", from).Run(); err != nil {
		t.Fatal(err)
	}
	v.Cut(powercut.Everything)
	saved := v.Save()
	for _, loss := range []powercut.Loss{powercut.Everything, powercut.Data} {
		v.Restore(saved)
		for _, cut := range []bool{true, false} {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), fillEnvironment+"="+from+":"+dir)
			if out, err := child.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if !cut {
				continue
			}
			// The record reaches the disk soon where it replaces another.
			if err := exec.Command("sync", dir+filledExt).Run(); err != nil {
				t.Fatal(err)
			}
			v.Cut(loss)
		}
		for n := range entries {
			if data, _ := os.ReadFile(mesaEntry(dir, n)); string(data) != fmt.Sprintf("entry %d", n) {
				t.Errorf("loss %d: entry %d is %q", loss, n, data)
			}
		}
	}
}
