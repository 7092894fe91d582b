package cli

import (
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// A bar appears for transfers that take more than a second, and for no others.
func TestTransferShowsABarWhenItTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transfer := (&Options{Stderr: io.Discard}).NewTransfer("pulling")
		transfer.Set(1, 100)
		time.Sleep(transferPatience / 2)
		transfer.Set(50, 100)
		if transfer.bar != nil {
			t.Error("a bar after half a second")
		}
		time.Sleep(transferPatience / 2)
		transfer.Set(60, 0) // the total is not known yet
		if transfer.bar != nil {
			t.Error("a bar without a total")
		}
		transfer.Set(75, 100)
		if transfer.bar == nil {
			t.Error("no bar after a second")
		}
		transfer.Finish()
	})
}
