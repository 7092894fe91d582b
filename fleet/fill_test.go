package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shadercache/shadercache/binary"
)

// fill adds n programs of a usual size, with machine code that is compressed 3 times.
func fill(t testing.TB, d *binary.Dir, of binary.Fingerprint, n int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	text := func(bytes int) []byte {
		data := make([]byte, bytes)
		for i := range data {
			data[i] = "0123456789abcdef"[random.IntN(6)]
		}
		return data
	}
	s, err := d.Store(of)
	must(t, err)
	for i := range n {
		b := testBlob(i, of)
		b.Payload = text(3000)
		data, err := b.Encode()
		must(t, err)
		key := b.Key.String() // Put would sync each file
		writeFile(t, d, fmt.Sprintf("%s/blobs/%s/%s.bin", of.DirName(), key[:2], key), data)
		for part := range 2 {
			writeFile(t, d, fmt.Sprintf("driver/mesa/mesa_shader_cache/%02x/%036x%02x", i%256, i, part), text(4000))
		}
	}
	must(t, s.Record([]binary.Use{{Key: testSource(0).Key()}}, binary.Counters{}))
	must(t, s.Close())
}
