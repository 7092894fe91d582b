//go:build linux

package executor

import (
	"slices"
	"sync"
	"testing"

	"github.com/shadercache/shadercache/glctx"
)

// TestCopiesInPieces copies sizes around the pieces, several at a time, and compares every
// word.
func TestCopiesInPieces(t *testing.T) {
	f := newFixture(t, Options{test: testOptions{pieces: true}})
	var all sync.WaitGroup
	for i, words := range []int{1, pieceBytes / 4, 2 * pieceBytes / 4, 2*pieceBytes/4 + 1, 5*pieceBytes/4 - 3, 9 * pieceBytes / 4} {
		all.Go(func() {
			want := make([]uint32, words)
			for k := range want {
				want[k] = uint32(k)*2654435761 + uint32(i)
			}
			b, err := NewBuffer[uint32](f.Executor, words+2)
			if err != nil {
				t.Error(err)
				return
			}
			defer b.Release()
			got := make([]uint32, words)
			for range 3 {
				clear(got)
				if err := b.UploadInPieces(t.Context(), 4, glctx.Bytes(want)); err != nil {
					t.Error(err)
				}
				if err := b.DownloadInPieces(t.Context(), 4, glctx.Bytes(got)); err != nil || !slices.Equal(got, want) {
					t.Errorf("%d words came back wrong, %v", words, err)
				}
			}
			if err := b.DownloadInPieces(t.Context(), 12, glctx.Bytes(got)); err == nil {
				t.Error("a copy beyond the end")
			}
		})
	}
	all.Wait()
}
