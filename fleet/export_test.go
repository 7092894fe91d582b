package fleet

import (
	"crypto/ed25519"
	"net/url"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// For tests of other packages.

// Mergeable returns the packs that compaction makes one.
func Mergeable(packs []Pack, files int, room int64) []Pack { return mergeable(packs, files, room) }

// Fit returns the packs for which a pull has room on a volume with so many free bytes.
func Fit(o Options, packs []Pack, free int64) (fits []Pack, total int64, err error) {
	return o.fit(packs, o.MaxBytes, free)
}

// Free is the space that a pull has for packs of a head.
func Free(r *Remote, h *Head) int64 { return r.free(h, nil) }

// SetClock replaces the clock of a remote.
func SetClock(r *Remote, now func() time.Time) { r.now = now }

// SetSync replaces what has a volume reach the disk.
func SetSync(r *Remote, sync func(path string) error) { r.syncVolume = sync }

// EncodeKeys returns the line of a list of keys.
func EncodeKeys(l KeyList, root ed25519.PrivateKey) []byte {
	line, err := signKeys(root, &l)
	if err != nil {
		panic(err)
	}
	return line
}

// CutKeys returns the line of the list that an object begins with, and the rest.
func CutKeys(object []byte) (line, rest []byte) { return cutKeys(object) }

// KeysName is the name of a remote's list of keys.
const KeysName = keysName

// EncodeHead returns the object of a head.
func EncodeHead(h Head, key ed25519.PrivateKey) []byte {
	content, err := h.encode()
	if err != nil {
		panic(err)
	}
	return signHead(key, content)
}

// DecodeHead decodes the object of a head.
func DecodeHead(object []byte, keys []ed25519.PublicKey, of shader.Digest) (*Head, error) {
	content, _, err := verifyHead(object, keys, false)
	if err != nil {
		return nil, err
	}
	return decodeHead(content, of)
}

// HeadName returns the name of a driver's head.
func HeadName(of shader.Digest) string { return headName(of) }

// PackName returns the name of a pack.
func PackName(of, pack shader.Digest) string { return packName(of, pack) }

// LeaseName returns the name of a driver's lease.
func LeaseName(of shader.Digest) string { return leaseName(of) }

// OpenerOf returns the opener of a scheme.
func OpenerOf(scheme string) Opener {
	registered.Lock()
	defer registered.Unlock()
	return registered.openers[scheme]
}

// FilledMisses is the number of misses that FillCounters counts.
const FilledMisses = 860

// FillCounters counts misses until a few lines more make the lines one.
func FillCounters(r *Remote) {
	for range FilledMisses {
		r.note(func() error { _, err := r.state.appendCounters(Counters{Misses: 1}); return err }())
	}
}

// LeaseWait returns how long a process with the lease time own waits for a lease of time of.
func LeaseWait(of, own time.Duration) time.Duration { return leaseBody{Time: of}.waited(own) }

// StateFolder returns the folder with what is known of a remote.
func StateFolder(r *Remote) string { return r.state.path }

// NameOf returns the name of a remote with this URL.
func NameOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return nameOf(u)
}
