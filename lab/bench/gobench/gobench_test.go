package gobench

import (
	"reflect"
	"testing"
)

func TestRead(t *testing.T) {
	got := Read(`# NVIDIA H200; revision 1
goos: linux
BenchmarkGet-16         	 100	        75.5 ns/op	       0 allocs/op
BenchmarkGet-16         	 100	        77 ns/op	       0 allocs/op
BenchmarkLoad/one-by-one-2     	   2	  28.39 first-us
BenchmarkBroken-2       	   2	  x first-us
PASS
`)
	want := Figures{
		"Get":             {"ns/op": {75.5, 77}, "allocs/op": {0, 0}},
		"Load/one-by-one": {"first-us": {28.39}},
		"Broken":          {},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
