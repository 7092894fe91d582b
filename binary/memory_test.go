package binary

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// TestManyEntries lists and verifies thousands of programs, and measures the heap
// meanwhile.
func TestManyEntries(t *testing.T) {
	programs := 2000
	if soak() {
		programs = 100_000
	}
	compress(nil) // makes the encoder, whose memory is not the store's
	begin, most := heap(), uint64(0)
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	blob := testBlob(0)
	blob.Payload = testPayload(1, 1000)
	must(t, s.Put(blob))
	for n := range programs {
		blob.Key = shader.MustSource("", string(rune(n+0x10000)), nil).Key()
		writeTestFile(t, s.blobPath(blob.Key), encode(t, blob), start)
	}
	must(t, s.Record(nil, Counters{Compiles: 1}))
	// The memory of Record is not measured.
	s = openTestStore(t, d, testFingerprint)
	step := programs / 10
	seen, at := 0, time.Now()
	for _, err := range s.All() {
		must(t, err)
		if seen++; seen%step == 0 {
			most = max(most, heap())
		}
	}
	t.Logf("All: %v", time.Since(at))
	at = time.Now()
	r, err := d.Verify(false, func(r VerifyReport) {
		if r.Good%step == 0 {
			most = max(most, heap())
		}
	})
	t.Logf("Verify: %v, heap grew by %d KB", time.Since(at), (int64(most)-int64(begin))/1024)
	if err != nil || r.Good != programs+1 || seen != programs+1 {
		t.Errorf("%d seen, %+v, %v", seen, r, err)
	}
	if most > begin+8<<20 {
		t.Errorf("the heap grew from %d to %d bytes", begin, most)
	}
}

// A few kilobytes that decompress to zeros, or to many empty values, take no more memory
// than the limits of the formats allow.
func TestDecodersBoundMemory(t *testing.T) {
	compress(nil)
	_, _ = decompress(nil, 0)
	zeros := testBlob(0)
	zeros.Payload = make([]byte, MaxPayloadBytes)
	blob := encode(t, zeros)
	names := compress([]byte("{\"files\":[\"\"" + strings.Repeat(",\"\"", maxSourceBytes/3-10) + "]}\n"))
	text := compress(make([]byte, maxSourceBytes))
	tuning := []byte("{\"tuning\":[0" + strings.Repeat(",0", maxTuningBytes) + "]}")
	for name, test := range map[string]struct {
		limit  uint64
		decode func()
	}{
		"blob":            {MaxPayloadBytes + 1<<20, func() { _, _ = decodeBlob(blob) }},
		"source":          {3 * maxSourceBytes, func() { _, _ = decodeSource(shader.Key{}, names) }},
		"zeros as source": {3 * maxSourceBytes, func() { _, _ = decodeSource(shader.Key{}, text) }},
		"tuning":          {1 << 20, func() { _, _ = decodeTuning(testFingerprint.Digest(), problemKey("p"), tuning) }},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		test.decode()
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > test.limit {
			t.Errorf("%s: decoding allocates %d KiB, at most %d are allowed", name, n>>10, test.limit>>10)
		}
	}
}

// heap returns the size of the reachable heap.
func heap() uint64 {
	runtime.GC() // the second collection empties pools
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
