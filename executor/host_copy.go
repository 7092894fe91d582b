package executor

import "sync"

// hostCopy copies data between the caller's memory and mapped memory. Large data is copied
// by several goroutines, in pieces of one size: one reaches a part of what the memory does.
// Each writes in order.
func hostCopy(to, from []byte) {
	if len(from) < leastPieces*pieceBytes {
		copy(to, from)
		return
	}
	n := min(len(from)/pieceBytes, pieceCopiers())
	piece := padded((len(from)+n-1)/n, wordBytes)
	var others sync.WaitGroup
	for at := piece; at < len(from); at += piece {
		others.Go(func() { copy(to[at:], from[at:min(at+piece, len(from))]) })
	}
	copy(to, from[:piece])
	others.Wait()
}
