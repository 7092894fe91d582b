package mesa

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// payload is a program binary with a name of a program in its content.
func payload(name string, crc byte) []byte {
	content := append([]byte("state\x01\x02"+name), 0, 0, 7)
	head := bytes.Repeat([]byte{crc}, binaryHeader)
	copy(head, "formatsha1sha1sha1sha1sh")
	binary.LittleEndian.PutUint32(head[binarySize:], uint32(len(content)))
	return append(head, content...)
}

func TestBinariesOfTwoProcesses(t *testing.T) {
	one := ComparableBinary(payload("GLSL3", 1))
	if !bytes.Equal(one, ComparableBinary(payload("GLSL1744", 2))) {
		t.Error("the number of the program is compared")
	}
	if bytes.Equal(one, ComparableBinary(append(payload("GLSL3", 1)[:binaryHeader], payload("GLSX3", 1)[binaryHeader:]...))) {
		t.Error("another content is the same")
	}
	for _, other := range [][]byte{nil, []byte("short"), append(payload("GLSL3", 1), 0)} {
		if !bytes.Equal(ComparableBinary(other), other) {
			t.Errorf("%q is no binary of Mesa, and was changed", other)
		}
	}
}
