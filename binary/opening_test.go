package binary

import (
	"os"
	"testing"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
)

func init() {
	children["open"] = func(args []string) {
		childStore(args[0]).dir.MarkOpening()
		dieNow()
	}
}

func TestDeathsWhileOpening(t *testing.T) {
	if !osfile.HasLocks {
		t.Skip("without locks the age of a file decides")
	}
	d := openTestDir(t)
	d.now = time.Now
	for deaths := 1; deaths <= 3; deaths++ {
		if err := childCommand(t, "open", d.path).Run(); err == nil {
			t.Fatal("the child did not end by a signal")
		}
		for range 2 {
			if got := d.DeathsWhileOpening(); got != deaths {
				t.Errorf("%d deaths, want %d", got, deaths)
			}
		}
	}
	failed := d.MarkOpening()
	if got := d.DeathsWhileOpening(); got != 3 {
		t.Errorf("%d deaths with this process, want 3", got)
	}
	failed(false)
	if got := d.DeathsWhileOpening(); got != 3 {
		t.Errorf("%d deaths after an error, want 3", got)
	}
	d.MarkOpening()(true)
	if left := osfile.List(d.path + "/" + openingName); len(left) != 0 || d.DeathsWhileOpening() != 0 {
		t.Errorf("left: %v", left)
	}
	// What is no directory is no place for marks, and no error.
	must(t, os.RemoveAll(d.path+"/"+openingName))
	must(t, os.WriteFile(d.path+"/"+openingName, nil, 0o600))
	d.MarkOpening()(true)
}
