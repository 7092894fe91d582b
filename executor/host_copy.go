package executor

import "sync"

// hostCopiers is the number of goroutines that copy large data. One copies 12 GB/s while the
// GPU is idle and 4 to 8 while it uses the same memory: with 4, two H200 went from 1,162 to
// 1,607 jobs of 16 MiB each way a second, and one goroutine that waits for each job from 191
// to 344 (docs/logs/h200/devices.txt).
const hostCopiers = 4

// hostCopy copies data between the caller's memory and mapped memory. Large data is copied
// by several goroutines, in pieces of one size. Each writes in order.
func hostCopy(to, from []byte) {
	if len(from) < leastPieces*pieceBytes {
		copy(to, from)
		return
	}
	n := min(len(from)/pieceBytes, hostCopiers, pieceCopiers())
	piece := padded((len(from)+n-1)/n, wordBytes)
	var others sync.WaitGroup
	for at := piece; at < len(from); at += piece {
		others.Go(func() { copy(to[at:], from[at:min(at+piece, len(from))]) })
	}
	copy(to, from[:piece])
	others.Wait()
}
