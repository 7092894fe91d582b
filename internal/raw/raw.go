// Package raw has the memory of numbers as bytes.
package raw

import "unsafe"

// Bytes returns the memory of a slice of numbers as bytes, without a copy. It is
// valid as long as s is.
func Bytes[T ~float32 | ~float64 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~uint16 | ~int16 | ~uint8 | ~int8](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// Within returns where a part lies in whole, and false where it does not, or is empty.
func Within(part, whole []byte) (offset int, ok bool) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	n := uintptr(len(whole))
	return int(at), len(part) > 0 && at < n && uintptr(len(part)) <= n-at
}

// Floats returns memory as numbers, without a copy. It begins at a multiple of 4 bytes.
func Floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
