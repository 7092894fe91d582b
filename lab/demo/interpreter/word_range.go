package interpreter

import "fmt"

// wordRange is a range of a machine's memory in words of 8 bytes: first, and end after the
// last one.
type wordRange struct{ first, end uint32 }

func newWordRange(address uint64, n, memoryBytes int) (wordRange, error) {
	if address%8 != 0 || n < 0 || n%8 != 0 || address > uint64(memoryBytes) || uint64(n) > uint64(memoryBytes)-address {
		return wordRange{}, fmt.Errorf("interpreter: watch %d bytes at %#x: both must be multiples of 8, within the memory of %#x", n, address, memoryBytes)
	}
	return wordRange{uint32(address / 8), uint32((address + uint64(n)) / 8)}, nil
}

// contains reports whether one of n words from an address on, a multiple of 8 within the
// memory, is in the range.
func (s wordRange) contains(address, n uint64) bool {
	return address/8+n > uint64(s.first) && address/8 < uint64(s.end)
}
