package executor

import (
	"testing"
	"testing/synctest"
)

func TestHostAccessWaitsForTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newHostAccess()
		for range 2 {
			if !a.begin() {
				t.Fatal("no access before close")
			}
		}
		a.close()
		waited := false
		go func() { a.wait(); waited = true }()
		for range 2 {
			if a.begin() {
				t.Error("an access began after close")
			}
			synctest.Wait()
			if waited {
				t.Error("wait returned before the last access ended")
			}
			a.end()
		}
		synctest.Wait()
		if !waited {
			t.Error("wait did not return")
		}
		a.wait()
	})
}
