package dispatch

import (
	"reflect"
	"testing"
	"time"
)

func TestGapFigures(t *testing.T) {
	got := newGapFigures([]time.Duration{600, 100, 100, -5, 1200})
	want := GapFigures{MedianMicros: 0.1, P99Micros: 1.2, MaxMicros: 1.2, Histogram: []GapBin{{0.25, 3}, {1, 1}, {2, 1}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if none := newGapFigures(nil); none.Histogram == nil || len(none.Histogram) > 0 || none.MaxMicros != 0 {
		t.Errorf("no gaps give %+v", none)
	}
}
