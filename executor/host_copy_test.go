//go:build linux

package executor

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Data of every size is copied whole, and nothing behind it.
func TestHostCopy(t *testing.T) {
	from := make([]byte, 3*pieceBytes+5)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(from)
	for _, n := range []int{0, 1, pieceBytes, 2*pieceBytes - 1, 2 * pieceBytes, 2*pieceBytes + 1, len(from)} {
		to := bytes.Repeat([]byte{0xA5}, n+wordBytes)
		hostCopy(to[:n], from[:n])
		if !bytes.Equal(to[:n], from[:n]) {
			t.Errorf("%d bytes are not the same", n)
		}
		if !bytes.Equal(to[n:], bytes.Repeat([]byte{0xA5}, wordBytes)) {
			t.Errorf("bytes behind %d were written", n)
		}
	}
}

// A job whose data is copied by several goroutines has every word right.
func TestLargeHostCopies(t *testing.T) {
	const words = leastPieces*pieceBytes/4 + 3
	f := newFixture(t, Options{Depth: 2, SlotBytes: 4*words + wordBytes})
	h := f.affine()
	for number := range uint32(2) {
		k := newTask(h, number, words)
		k.pending = f.submit(k.job)
		f.finish(k)
	}
}
