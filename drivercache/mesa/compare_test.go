package mesa

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// payload is a program binary of a program with a name: a struct of 24 bytes, aligned numbers.
func payload(name string, crc byte, numbers ...uint32) []byte {
	content := append([]byte("state\x00\x00\x00uniform GLSL7\x00\x00\x00size\x1a\x00\x00\x00\x01\x00\x00\x00"), name...)
	begin := len(content) - len(name)
	content = append(append(content, 0), bytes.Repeat([]byte{0, 0, 7, 0, 0, 0}, 4)...)
	for len(content)%4 != 0 {
		content = append(content, 0)
	}
	for _, n := range numbers {
		content = binary.LittleEndian.AppendUint32(content, n)
	}
	binary.LittleEndian.PutUint32(content[begin-12:], uint32(len(content)-begin)) // in the place of "size"
	head := bytes.Repeat([]byte{crc}, binaryHeader)
	copy(head, "formatsha1sha1sha1sha1sh")
	binary.LittleEndian.PutUint32(head[binarySize:], uint32(len(content)))
	return append(head, content...)
}

func TestBinariesOfTwoProcesses(t *testing.T) {
	one := payload("GLSL3", 1, 1, 256, 0, 5)
	for _, name := range []string{"GLSL3", "GLSL9", "GLSL12", "GLSL174", "GLSL1744", "GLSL17446"} {
		if other := payload(name, 2, 1, 256, 0, 5); !SameBinary(one, other) || !SameBinary(other, one) {
			t.Errorf("the number of program %s is compared", name)
		}
		for _, numbers := range [][]uint32{{1, 1, 0, 5}, {1, 256, 5, 0}, {1, 65536, 0, 5}, {256, 256, 0, 5}, {1, 0, 256, 5}, {1, 256, 0, 0, 5}, {1, 256, 0}} {
			if SameBinary(one, payload(name, 1, numbers...)) {
				t.Errorf("%s with %v is the same", name, numbers)
			}
		}
	}
	other := payload("GLSL1744", 2, 1, 256, 0, 5)
	if other[binaryHeader]++; SameBinary(one, other) {
		t.Error("what is before the sizes is not compared")
	}
	if SameBinary(one, payload("GLSX3", 1, 1, 256, 0, 5)) {
		t.Error("another content is the same")
	}
	for _, other := range [][]byte{nil, []byte("short"), append(slices.Clone(one), 0)} {
		if !SameBinary(other, slices.Clone(other)) || SameBinary(other, one) {
			t.Errorf("%q is no binary of Mesa", other)
		}
	}
}
