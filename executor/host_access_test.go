package executor

import (
	"testing"
	"time"
)

func TestHostAccessWaitsForTheLast(t *testing.T) {
	a := new(hostAccess)
	for range 2 {
		if !a.begin() {
			t.Fatal("no access before close")
		}
	}
	a.close()
	waited := make(chan struct{})
	go func() {
		a.wait()
		close(waited)
	}()
	for range 2 {
		select {
		case <-waited:
			t.Error("wait returned before the last access ended")
		case <-time.After(5 * time.Millisecond):
		}
		if a.begin() {
			t.Error("an access began after close")
		}
		a.end()
	}
	<-waited
	if a.begin() {
		t.Error("an access began after wait")
	}
}
