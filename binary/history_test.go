package binary

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

func asked(name string, ms float64) Asked {
	return Asked{Key: shader.MustSource(name, "void main() {}", shader.Defines{"NAME": name}).Key(), Name: name, Millis: ms}
}

func TestStartSet(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	put := func(executable string, programs ...Asked) {
		must(t, s.PutHistory(time.Now(), executable, programs))
	}
	put("app", asked("a", 30), asked("b", 50))
	put("app", asked("b", 10), asked("a", 40), asked("rare", 45))
	put("other", asked("rare", 1), asked("else", 2))
	put("app") // nothing was asked for
	var got []string
	for _, p := range d.StartSet("app") {
		got = append(got, p.Name)
	}
	if strings.Join(got, " ") != "b a rare" {
		t.Errorf("%q: b is asked for after 30 ms on average, a after 35", got)
	}
	if set := d.StartSet(""); len(set) != 4 || set[0].Name != "rare" || set[0].Starts != 2 || set[0].Millis != 23 {
		t.Errorf("of any executable: %+v", set)
	}
	if h := d.history(); len(h) != 3 || h[0].Driver != s.name || h[0].Programs[1] != asked("b", 50) {
		t.Errorf("%+v", h)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	var long []Asked
	for i := range maxAsked + 500 {
		long = append(long, asked(strings.Repeat("x", 100), float64(i)))
	}
	for range 12 {
		must(t, s.PutHistory(time.Now(), "app", long))
	}
	info, err := os.Stat(histories.path(d))
	must(t, err)
	if info.Size() > histories.above*5/4 {
		t.Errorf("the file has %d bytes", info.Size())
	}
	if h := d.history(); len(h) == 0 || len(h[0].Programs) != maxAsked {
		t.Errorf("%d lines", len(h))
	}
	if report, err := d.Verify(false, nil); err != nil || report.Unknown != 0 || !report.OK() {
		t.Errorf("%+v, %v", report, err)
	}
	must(t, os.WriteFile(histories.path(d), []byte("{\"time\":3}\n[1,2\nnull\n"), 0o600))
	must(t, s.PutHistory(time.Now(), "app", []Asked{asked("a", 1)}))
	if h := d.history(); len(h) != 1 {
		t.Errorf("beside damaged lines: %+v", h)
	}
	if _, err := d.Clear(PruneOptions{}); err != nil || len(d.history()) > 0 {
		t.Errorf("after a clear: %v", err)
	}
}
