package dispatch

import (
	"testing"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/glctx/gltest"
)

func TestMain(m *testing.M) { gltest.Main(m) }

func TestRun(t *testing.T) {
	r, err := Run(clitest.Options(t), Options{Dispatches: 20})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Print(t, r, "20 dispatches on ", "driver's own cache: ", "switch, 16 programs", "every dispatch was counted")
	for name, s := range r.Spreads {
		if s.Least <= 0 || s.Median < s.Least || s.Most < s.Median {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if len(r.Spreads) != 9 || len(r.Switches) != 4 || r.SubmitMicros <= 0 {
		t.Errorf("%+v", r)
	}
	if r.Verified = false; r.Verdict() == nil {
		t.Error("missing dispatches are no failure")
	}
	for _, n := range []int{0, 1_000_001} {
		if (Options{n}).Validate() == nil {
			t.Errorf("no error for %d dispatches", n)
		}
	}
}
