package nvidia

import (
	"bytes"
	"testing"
)

func TestUnsetBytesOfBinaries(t *testing.T) {
	one := bytes.Repeat([]byte{1}, 100)
	two := bytes.Clone(one)
	copy(two[68:], []byte{0xA4, 6, 0, 0})
	if !bytes.Equal(ComparableBinary(one), ComparableBinary(two)) || two[68] != 0xA4 {
		t.Error("unset bytes are compared, or were changed")
	}
	for _, i := range []int{0, 67, 72, 99} {
		two := bytes.Clone(one)
		two[i]++
		if bytes.Equal(ComparableBinary(one), ComparableBinary(two)) {
			t.Errorf("byte %d is not compared", i)
		}
	}
	if !bytes.Equal(ComparableBinary([]byte("short")), []byte("short")) {
		t.Error("a short one was changed")
	}
}
