package cli

import (
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// A bar appears for work that takes more than a second, and for no other.
func TestABarAppearsWhenItTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bar := (&Options{Stderr: io.Discard}).NewBar("pulling")
		bar.Set(1, 100)
		time.Sleep(barPatience / 2)
		bar.Set(50, 100)
		if bar.bar != nil {
			t.Error("a bar after half a second")
		}
		time.Sleep(barPatience / 2)
		bar.Set(60, 0) // the total is not known yet
		if bar.bar != nil {
			t.Error("a bar without a total")
		}
		bar.Set(75, 100)
		if bar.bar == nil {
			t.Error("no bar after a second")
		}
		bar.Finish()
	})
}
