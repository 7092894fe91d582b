package conv2d

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
)

func TestCompare(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	poison := math.Float32frombits(Poison)
	tests := []struct {
		name      string
		got       float32
		want      float64
		magnitude float64
		wrong     bool
		nans      int
		unwritten int
	}{
		{"equal", 1, 1, 1, false, 0, 0},
		{"within tolerance", 1.0009, 1, 1, false, 0, 0},
		{"out of tolerance", 1.0011, 1, 1, true, 0, 0},
		{"small difference of large terms", 0.05, 0, 100, false, 0, 0},
		{"no magnitude and not equal", 0.05, 0, 0, true, 0, 0},
		{"denormal flushed to zero", 0, 1e-40, 1e-40, false, 0, 0},
		{"NaN passed on", float32(nan), nan, nan, false, 0, 0},
		{"NaN from nowhere", float32(nan), 1, 1, true, 1, 0},
		{"NaN lost", 1, nan, nan, true, 0, 0},
		{"infinity passed on", float32(inf), inf, inf, false, 0, 0},
		{"infinity of the other sign", float32(-inf), inf, inf, true, 0, 0},
		{"infinity lost", math.MaxFloat32, inf, inf, true, 0, 0},
		{"infinity from nowhere", float32(inf), 1, inf, true, 0, 0},
		{"beyond float32", float32(inf), 1e39, 1e39, false, 0, 0},
		{"not written", poison, 1, 1, true, 0, 1},
		{"not written where NaN is expected", poison, nan, nan, true, 0, 1},
	}
	for _, test := range tests {
		r := Compare([]float32{test.got}, Expected{[]float64{test.want}, []float64{test.magnitude}}, 1e-3)
		if r.OK() == test.wrong || r.NaNs != test.nans || r.Unwritten != test.unwritten {
			t.Errorf("%s: %+v", test.name, r)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestCompareFindsTheWorstElement(t *testing.T) {
	want := Expected{[]float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}}
	r := Compare([]float32{1, 2.5, 3.1, 4}, want, 0.1)
	if r.Worst != 1 || r.Wrong != 1 || math.Abs(r.MaxError-0.25) > 1e-9 || r.Got != 2.5 || r.Want != 2 {
		t.Errorf("%+v", r)
	}
	r = Compare([]float32{1, 2.5, 3, math.Float32frombits(Poison)}, want, 0.1)
	if r.Worst != 3 || r.Wrong != 2 || r.Unwritten != 1 {
		t.Errorf("%+v", r)
	}
	var mismatch *MismatchError
	if !errors.As(r.Err(), &mismatch) || mismatch.Report != r && r.Got == r.Got {
		t.Errorf("Err is %v", r.Err())
	}
	if err := Compare(nil, Expected{}, 1).Err(); err != nil {
		t.Errorf("nothing compared with nothing: %v", err)
	}
}

func TestReportAppend(t *testing.T) {
	want := Expected{[]float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}}
	got := []float32{1, 2, 3.5, 4.1}
	whole := Compare(got, want, 0.1)
	var parts Report
	for i := 0; i < 4; i += 2 {
		parts.Append(Compare(got[i:i+2], Expected{want.Values[i : i+2], want.Magnitudes[i : i+2]}, 0.1))
	}
	if parts != whole {
		t.Errorf("appended %+v, at once %+v", parts, whole)
	}
}

func TestTolerance(t *testing.T) {
	if got := Tolerance(10_000); math.Abs(got-1e-3) > 1e-12 {
		t.Errorf("got %v, want 1e-3", got)
	}
}
