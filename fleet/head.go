package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

const (
	headSchema = 2
	maxName    = 256

	// maxSignedBytes is enough for maxPacks packs, of which a head has ten or so. A head leaves
	// room for any list of keys: a later list would not reach it otherwise.
	maxSignedBytes = 192<<10 - 1<<10
	maxHeadBytes   = maxSignedBytes + maxKeysBytes + 1<<10
	maxPacks       = 256
	maxPackBytes   = 64 << 30

	// The sums of what the packs of a head claim are far below those of an int64.
	maxUnpackedBytes = 4 << 40
	maxPackFiles     = 1 << 20 // a bundle's manifest has room for less
	maxSequence      = 1 << 53 // milliseconds since 1970 are below 2^41
	maxSaves         = 1000 * time.Hour
)

// Head lists the packs of one driver. It is signed with an ed25519 key: the signature
// covers every byte.
type Head struct {
	Schema      int                `json:"schema"`
	Fingerprint shader.Digest      `json:"fingerprint"`
	Driver      binary.Fingerprint `json:"driver"`
	Name        string             `json:"name,omitempty"`  // of the remote: see Options
	Epoch       uint64             `json:"epoch,omitempty"` // of the list of keys when it was written; 0: there was none
	Sequence    uint64             `json:"sequence"`        // grows with each change in an epoch; the first is the time in milliseconds
	Time        time.Time          `json:"time"`
	Expires     time.Time          `json:"expires,omitzero"` // no reader uses it after that
	Packs       []Pack             `json:"packs"`            // the oldest first

	// Retired are packs that were compacted less than a day ago. They are kept for readers
	// of older heads.
	Retired []Retired `json:"retired,omitempty"`
}

// Pack is a bundle in the remote.
type Pack struct {
	SHA256      shader.Digest `json:"sha256"`
	Size        int64         `json:"size"`     // bytes of the object
	Unpacked    int64         `json:"unpacked"` // bytes of its files
	Programs    int           `json:"programs"`
	DriverFiles int           `json:"driver_files"`
	Saves       time.Duration `json:"saves_ns,omitempty"` // what its programs took to compile where they were made

	// Replaces are the packs from which this one was made: a reader that has all of them
	// does not need it.
	Replaces []shader.Digest `json:"replaces,omitempty"`
}

// Retired is a pack that a head listed.
type Retired struct {
	SHA256 shader.Digest `json:"sha256"`
	Time   time.Time     `json:"time"` // when it was taken out
}

// digests returns the names of the packs of a head.
func (h *Head) digests() map[shader.Digest]bool {
	set := map[shader.Digest]bool{}
	for _, p := range h.Packs {
		set[p.SHA256] = true
	}
	return set
}

// Bytes returns the bytes of the packs.
func (h *Head) Bytes() (total int64) {
	for _, p := range h.Packs {
		total += p.Size
	}
	return total
}

// Programs returns the number of programs of the packs. A program in two packs counts twice.
func (h *Head) Programs() (total int) {
	for _, p := range h.Packs {
		total += p.Programs
	}
	return total
}

// encode returns the only form of a head.
func (h *Head) encode() ([]byte, error) {
	data, err := json.MarshalIndent(h, "", " ")
	return append(data, '\n'), err
}

// decodeHead decodes the bytes of encode and refuses all others. The head is that of the
// driver with the digest of.
func decodeHead(data []byte, of shader.Digest) (*Head, error) {
	if err := checkSigned(data); err != nil {
		return nil, err
	}
	var about struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &about); err != nil {
		return nil, refuse(classDamaged, "the head cannot be decoded: %v", err)
	}
	if about.Schema > headSchema {
		return nil, refuse(classNewer, "the head has schema %d, which is newer than this program: it reads schema %d; update shadercache here", about.Schema, headSchema)
	}
	if about.Schema != headSchema {
		return nil, refuse(classDamaged, "the head has schema %d, and this program reads schema %d", about.Schema, headSchema)
	}
	h := &Head{}
	if err := json.Unmarshal(data, h); err != nil {
		return nil, refuse(classDamaged, "the head cannot be decoded: %v", err)
	}
	if again, err := h.encode(); err != nil || !bytes.Equal(again, data) {
		return nil, refuse(classDamaged, "the head is not in the form in which it is written")
	}
	if h.Fingerprint != of || h.Driver.Digest() != of {
		return nil, refuse(classFingerprint, "the head under driver %s is that of driver %s", of.Short(), h.Fingerprint.Short())
	}
	return h, h.check()
}

// checkSigned returns an error for a head that leaves a list of keys too little room.
func checkSigned(data []byte) error {
	if len(data) > maxSignedBytes {
		return refuse(classDamaged, "the head has %d bytes without its list of keys, and at most %d are possible: compact the remote", len(data), maxSignedBytes)
	}
	return nil
}

// check returns an error for values that no writer makes.
func (h *Head) check() error {
	if len(h.Packs) > maxPacks || len(h.Retired) > maxPacks {
		return refuse(classDamaged, "the head has %d packs, and %d retired ones: at most %d are possible", len(h.Packs), len(h.Retired), maxPacks)
	}
	if h.Sequence > maxSequence {
		return refuse(classDamaged, "the head has the impossible number %d", h.Sequence)
	}
	if h.Expires.IsZero() || len(h.Name) > maxName {
		return refuse(classDamaged, "the head has no end, or an impossible name")
	}
	if len(h.digests()) != len(h.Packs) {
		return refuse(classDamaged, "the head lists a pack twice")
	}
	for _, p := range h.Packs {
		if !isWithin(p.Size-1, maxPackBytes-1) || !isWithin(p.Unpacked, maxUnpackedBytes) || !isWithin(int64(p.Programs), maxPackFiles) ||
			!isWithin(int64(p.DriverFiles), maxPackFiles) || !isWithin(int64(p.Saves), int64(maxSaves)) || len(p.Replaces) > maxPacks {
			return refuse(classDamaged, "the head has impossible values for pack %s", p.SHA256.Short())
		}
	}
	return nil
}

func isWithin(n, limit int64) bool { return n >= 0 && n <= limit }

// headName returns the name of the head of a driver.
func headName(of shader.Digest) string { return fmt.Sprintf("v1/%s/head", of) }

// packsFolder returns the name of the folder with the packs of a driver.
func packsFolder(of shader.Digest) string { return fmt.Sprintf("v1/%s/packs/", of) }

// packName returns the name of a pack.
func packName(of, pack shader.Digest) string { return packsFolder(of) + pack.String() }

// leaseName returns the name of the lease of a driver.
func leaseName(of shader.Digest) string { return fmt.Sprintf("v1/%s/lease", of) }

// annotations describe a head for people.
func (h *Head) annotations() map[string]string {
	return map[string]string{
		"org.shadercache.fingerprint": h.Fingerprint.String(),
		"org.shadercache.gpu":         h.Driver.Renderer,
		"org.shadercache.driver":      h.Driver.Version,
		"org.shadercache.vendor":      h.Driver.Vendor,
		"org.shadercache.sequence":    fmt.Sprint(h.Sequence),
		"org.shadercache.programs":    fmt.Sprint(h.Programs()),
	}
}

// contentDigest returns the digest of an object.
func contentDigest(data []byte) shader.Digest { return sha256.Sum256(data) }
