package mesa

import (
	"bytes"
	"encoding/binary"
	"regexp"
)

// number is the name that Mesa gives a program of GLSL: its number in the process
// (st_glsl_to_nir.cpp).
var number = regexp.MustCompile(`GLSL[0-9]+\x00`)

// The header of a program binary (program_binary.c): format, SHA-1 of the driver, size and
// CRC of what follows.
const (
	binarySize   = 24
	binaryHeader = 32
)

// SameBinary reports whether two program binaries are the same but for what depends on the programs
// that their processes made before. Those of another driver are compared as they are.
func SameBinary(a, b []byte) bool {
	if !isBinary(a) || !isBinary(b) || !bytes.Equal(a[:binarySize], b[:binarySize]) {
		return bytes.Equal(a, b)
	}
	a, b = a[binaryHeader:], b[binaryHeader:]
	namesB := number.FindAllIndex(b, -1)
	for i, nameA := range number.FindAllIndex(a, -1) {
		if i == len(namesB) || nameA[0] != namesB[i][0] {
			return false
		}
		if nameB := namesB[i]; !bytes.Equal(a[nameA[0]:nameA[1]], b[nameB[0]:nameB[1]]) { // others are words of the program
			return sameBeforeName(a[:nameA[0]], b[:nameB[0]], len(a)-len(b)) && sameBehindName(a, b, nameA[1], nameB[1])
		}
	}
	return bytes.Equal(a, b)
}

// sizesBefore is the bytes before a name in which sizes of what has it are.
const sizesBefore = 24

// sameBeforeName compares what is before a name. more is how much longer a is, and its sizes larger.
func sameBeforeName(a, b []byte, more int) bool {
	start := len(a) - sizesBefore
	if start < 0 {
		return bytes.Equal(a, b)
	}
	for at := start; at+4 <= len(a); at += 4 {
		x, y := binary.LittleEndian.Uint32(a[at:]), binary.LittleEndian.Uint32(b[at:])
		if x != y && x-y != uint32(more) {
			return false
		}
	}
	return bytes.Equal(a[:start], b[:start])
}

func isBinary(payload []byte) bool {
	return len(payload) >= binaryHeader && int(binary.LittleEndian.Uint32(payload[binarySize:])) == len(payload)-binaryHeader
}

// sameBehindName compares what follows the names that end at endA and endB: a struct whose size is
// not known but a multiple of 8, zeros up to a multiple of 4 of all, and the rest (nir_serialize.c).
func sameBehindName(a, b []byte, endA, endB int) bool {
	zerosA, zerosB := -endA&3, -endB&3
	a, b = a[endA:], b[endB:]
	for size := 0; size+max(zerosA, zerosB) <= min(len(a), len(b)) && bytes.Equal(a[:size], b[:size]); size += 8 {
		restA, restB := a[size:], b[size:]
		if isZero(restA[:zerosA]) && isZero(restB[:zerosB]) && bytes.Equal(restA[zerosA:], restB[zerosB:]) {
			return true
		}
	}
	return false
}

func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
