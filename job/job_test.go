package job

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

func TestShares(t *testing.T) {
	for _, c := range []struct {
		n, parts int
		want     string
	}{
		{8, 2, "[{0 4} {4 4}]"}, {8, 3, "[{0 3} {3 3} {6 2}]"}, {2, 4, "[{0 1} {1 1}]"}, {5, 1, "[{0 5}]"},
	} {
		if got := fmt.Sprint(Shares(c.n, c.parts)); got != c.want {
			t.Errorf("%d in %d: %s, want %s", c.n, c.parts, got, c.want)
		}
	}
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		size, offset, n int
		ok              bool
	}{
		{8, 0, 8, true}, {8, 7, 1, true}, {8, 0, 0, false}, {8, 8, 1, false}, {8, -1, 2, false}, {8, 4, 5, false},
		{8, 4, -1, false}, {8, 1 << 62, 1 << 62, false},
	} {
		if err := CheckRange(c.size, c.offset, c.n); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestOriginsHaveNames(t *testing.T) {
	for o, name := range map[Origin]string{0: "unknown", Compiled: "compiled", Disk: "disk", Memory: "memory", Resident: "resident"} {
		if o.String() != name || ParseOrigin(name) != o {
			t.Errorf("%d is %s, and %s is %d", o, o, name, ParseOrigin(name))
		}
	}
	if o := Origin(200); o.String() != "unknown" || ParseOrigin("disc") != 0 {
		t.Errorf("%s", o)
	}
}

// TestUniforms compares the bytes of values, and which types they fit.
func TestUniforms(t *testing.T) {
	for _, c := range []struct {
		u     Uniform
		base  string
		bytes []byte
		one   bool
	}{
		{Int("i", -1), "int", []byte{255, 255, 255, 255}, true},
		{Uint("u", 258), "uint", []byte{2, 1, 0, 0}, true},
		{Bool("b", true), "bool", []byte{1, 0, 0, 0}, true},
		{Float("f", 1), "float", []byte{0, 0, 128, 63}, true},
		{Floats("none"), "float", nil, false},
		{Ints("v", 1, 2), "int", []byte{1, 0, 0, 0, 2, 0, 0, 0}, false},
		{Bools("w", true, false), "bool", []byte{1, 0, 0, 0, 0, 0, 0, 0}, false},
		{Doubles("d", 1), "double", []byte{0, 0, 0, 0, 0, 0, 240, 63}, false},
	} {
		_, one := c.u.One()
		if got := c.u.AppendTo(nil); !bytes.Equal(got, c.bytes) || c.u.Bytes() != len(c.bytes) || c.u.Base() != c.base || one != c.one {
			t.Errorf("%s: %v, %d bytes, %v, one: %v", c.u.Name, got, c.u.Bytes(), c.u.Base(), one)
		}
	}
}

// TestInputsAreFilledOnce has a device that cannot fill an input in place.
func TestInputsAreFilledOnce(t *testing.T) {
	in := Input{Binding: 3, Size: 2, Fill: func(b []byte) { copy(b, "ab") }}
	if data, err := in.Bytes(); err != nil || string(data) != "ab" {
		t.Errorf("%q, %v", data, err)
	}
	in.Data = []byte("x")
	if _, err := in.Bytes(); !errors.Is(err, ErrInvalid) {
		t.Errorf("Fill and Data: %v", err)
	}
	out := Output{To: []byte("x"), Read: func([]byte) {}, Size: 1}
	if _, err := out.Bytes(); !errors.Is(err, ErrInvalid) {
		t.Errorf("Read and To: %v", err)
	}
}
