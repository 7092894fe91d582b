//go:build linux

package conv2d

import (
	"math"
	"testing"

	"github.com/shadercache/shadercache/glctx/gltest"
)

// A sample has an element of every part of the output, with the values of the reference.
// One that differs is found, and so is any element that was not written.
func TestCompareSample(t *testing.T) {
	info := gltest.Open(t).Info()
	for _, word := range []string{
		"conv2d:2x6x20x18-9,3x3,p1,g3,bias,relu", "conv2d:1x3x31x31-8,7x7,s2,p3", "gemm:70x50x33,ta,batch3:2310:0:3500,row-bias,relu",
		"gemm:64x65x20,lda68,tb", "gemm:40x41x42,ldc50,beta2",
	} {
		s, err := ParseShape(word)
		if err != nil {
			t.Fatal(err)
		}
		on, err := newTask(s, info)
		if err != nil {
			t.Fatal(err)
		}
		in := on.repeatedTensors(3)
		want := on.shape.reference(in)
		got := make([]float32, on.output)
		for i, v := range want.Values {
			got[i] = float32(v)
		}
		if err := on.compareSample(got, in, 1e-6).Err(); err != nil {
			t.Errorf("%s: %v", word, err)
		}
		sample := on.sample()
		for i := range sample {
			at, value, magnitude := on.shape.of().expectedElement(in, sample[i])
			if math.Abs(value-want.Values[at]) > 1e-12 || math.Abs(magnitude-want.Magnitudes[at]) > 1e-12 {
				t.Fatalf("%s: element %d: %v of %v, not %v of %v", word, at, value, magnitude, want.Values[at], want.Magnitudes[at])
			}
		}
		at, _, _ := on.shape.of().expectedElement(in, sample[len(sample)/2])
		good := got[at]
		got[at] += 1
		if r := on.compareSample(got, in, 1e-6); r.Wrong != 1 || r.Worst != at {
			t.Errorf("%s: element %d changed: %v", word, at, r)
		}
		got[at] = good
		if !on.keepsOutput {
			got[on.output-2] = math.Float32frombits(Poison)
			if r := on.compareSample(got, in, 1e-6); r.OK() || r.Unwritten == 0 || r.Worst != on.output-2 {
				t.Errorf("%s: not written: %v", word, r)
			}
		}
	}
}

// TestRepeatedValues checks that the values are those of RandomValues, again and again.
func TestRepeatedValues(t *testing.T) {
	values, first := repeatedValues(2*valuePeriod+7, 5), RandomValues(valuePeriod, 5)
	for i, v := range values {
		if v != first[i%valuePeriod] {
			t.Fatalf("value %d is %v, not %v", i, v, first[i%valuePeriod])
		}
	}
}
