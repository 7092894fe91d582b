//go:build linux

package queue

// uploadWords is the largest number of words of items in an upload, which has to fit
// into a slot of the executor.
const uploadWords = 1 << 15

// upload is a set of pushed items that a submission copies to the device.
type upload struct {
	levels  [][]uint32
	count   int
	size    int // words of an item
	longest int // items of the longest level
}

// takePending removes items from the pending ones, low levels first, as many as the device
// has room for. running must be locked.
func (q *Queue) takePending() (upload, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		return upload{}, errClosed
	}
	up := upload{levels: make([][]uint32, q.options.Levels), size: q.options.Words}
	left := min(uploadWords/up.size, q.options.Capacity-q.mu.onDevice)
	for level, items := range q.mu.pending {
		n := min(left, len(items)/up.size)
		up.levels[level], q.mu.pending[level] = items[:n*up.size], items[n*up.size:]
		left -= n
		up.count += n
		up.longest = max(up.longest, n)
	}
	q.mu.onDevice += up.count
	q.mu.pendingCount -= up.count
	return up, nil
}

// returnPending adds the items to the pending ones again, before the others.
func (q *Queue) returnPending(up upload) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for level, items := range up.levels {
		q.mu.pending[level] = append(items[:len(items):len(items)], q.mu.pending[level]...)
	}
	q.mu.onDevice -= up.count
	q.mu.pendingCount += up.count
}

// encode returns the input of queue_push.
func (up upload) encode() []uint32 {
	var words []uint32
	first := 0
	for _, items := range up.levels {
		n := len(items) / up.size
		words = append(words, uint32(first), uint32(n))
		first += n
	}
	for _, items := range up.levels {
		words = append(words, items...)
	}
	return words
}
