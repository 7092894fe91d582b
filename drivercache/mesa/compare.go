package mesa

import (
	"bytes"
	"encoding/binary"
	"regexp"
)

// number is the name that Mesa gives a program of GLSL: its number in the process
// (st_glsl_to_nir.cpp), and what aligns the text.
var number = regexp.MustCompile(`GLSL[0-9]+\x00*`)

// The header of a program binary (program_binary.c): format, SHA-1 of the driver, size and
// CRC of what follows.
const (
	binarySize   = 24
	binaryHeader = 32
)

// ComparableBinary returns a copy of a program binary without what depends on the programs
// that the process made before, so that those of two processes can be compared. That of
// another driver is returned as it is.
func ComparableBinary(payload []byte) []byte {
	if len(payload) < binaryHeader || int(binary.LittleEndian.Uint32(payload[binarySize:])) != len(payload)-binaryHeader {
		return payload
	}
	rest := number.ReplaceAll(payload[binaryHeader:], []byte("GLSL"))
	return append(bytes.Clone(payload[:binarySize]), rest...)
}
