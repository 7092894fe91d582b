package main

import "testing"

func TestPair(t *testing.T) {
	p := Pair{1, 1}
	if p.Type() != "WxH" {
		t.Error(p.Type())
	}
	for _, good := range []string{"512x256", "1x1"} {
		if err := p.Set(good); err != nil || p.String() != good {
			t.Errorf("%s: %v, %v", good, err, &p)
		}
	}
	for _, bad := range []string{"", "512", "0x1", "1x2x3", "ax1"} {
		if err := p.Set(bad); err == nil || p != (Pair{1, 1}) {
			t.Errorf("%q is %v", bad, &p)
		}
	}
}
