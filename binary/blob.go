package binary

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shadercache/shadercache/shader"
)

const (
	// MaxPayloadBytes is the largest program binary that a blob holds, decoded.
	// Drivers make 1 KB to a few MB. The limit bounds the memory that a damaged file
	// can make a reader allocate.
	MaxPayloadBytes = 64 << 20
	// maxNameBytes is the size of the longest name in a blob.
	maxNameBytes = 1024
)

// Blob is one program binary with what identifies and describes it. It has no lock: do
// not change it once other goroutines read it.
type Blob struct {
	Key          shader.Key
	Fingerprint  shader.Digest // of the driver that made the payload
	Format       uint32        // GL program binary format
	Payload      []byte        // as the driver returned it; 1 to MaxPayloadBytes bytes
	Name         string        // for people; Encode cuts it to maxNameBytes
	Created      time.Time     // to the nanosecond, in UTC
	CompileNanos int64         // time to a primed program without the cache; 0 = unknown
	WorkGroup    [3]uint32
	Interface    shader.Digest // of the compiled program's interface
	Upstream     bool          // Get read it from an upstream directory; not stored
}

// Encode returns the bytes of a file, which DecodeBlob decodes. It compresses the payload
// where that makes it smaller. It returns an error for a payload that is empty or too
// large, and for times that the envelope cannot hold.
func (b *Blob) Encode() ([]byte, error) {
	h, err := b.header()
	if err != nil {
		return nil, fmt.Errorf("binary: encode blob %q: %w", b.Name, err)
	}
	stored := b.Payload
	if packed := compress(b.Payload); len(packed) < len(b.Payload) {
		stored, h.codec = packed, codecZstd
	}
	h.storedBytes = uint32(len(stored))
	h.payloadSum = sha256.Sum256(stored)
	data := make([]byte, 0, h.size()+len(stored))
	return append(h.append(data), stored...), nil
}

// DecodeBlob decodes what Encode returned. For any data it does not panic and allocates
// at most MaxPayloadBytes for the payload. It returns an error that matches ErrDamaged for data that Encode
// did not return, including other versions of the envelope. The payload may share memory
// with data.
func DecodeBlob(data []byte) (*Blob, error) {
	h, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	stored := data[h.size():]
	if len(stored) != int(h.storedBytes) {
		return nil, damaged("payload has %d bytes, the header says %d", len(stored), h.storedBytes)
	}
	if sha256.Sum256(stored) != h.payloadSum {
		return nil, damaged("payload checksum does not match")
	}
	b := h.blob()
	b.Payload = stored
	if h.codec == codecZstd {
		if b.Payload, err = decompress(stored, int(h.rawBytes)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// header returns the envelope's header, without the fields that depend on compression.
func (b *Blob) header() (*header, error) {
	created, err := unixNanos(b.Created)
	switch {
	case err != nil:
		return nil, err
	case len(b.Payload) == 0:
		return nil, fmt.Errorf("the payload is empty")
	case len(b.Payload) > MaxPayloadBytes:
		return nil, fmt.Errorf("the payload has %d bytes, at most %d are kept", len(b.Payload), MaxPayloadBytes)
	case b.CompileNanos < 0:
		return nil, fmt.Errorf("the compile time is negative: %d ns", b.CompileNanos)
	}
	return &header{
		format:       b.Format,
		rawBytes:     uint32(len(b.Payload)),
		workGroup:    b.WorkGroup,
		created:      created,
		compileNanos: b.CompileNanos,
		key:          b.Key,
		fingerprint:  b.Fingerprint,
		interfaceSum: b.Interface,
		name:         cutName(b.Name),
	}, nil
}

// blob returns the blob that h describes, without its payload.
func (h *header) blob() *Blob {
	b := &Blob{
		Key:          h.key,
		Fingerprint:  h.fingerprint,
		Format:       h.format,
		Name:         h.name,
		CompileNanos: h.compileNanos,
		WorkGroup:    h.workGroup,
		Interface:    h.interfaceSum,
	}
	if h.created != 0 {
		b.Created = time.Unix(0, h.created).UTC()
	}
	return b
}

// unixNanos returns t in nanoseconds since 1970, and 0 for the zero time.
func unixNanos(t time.Time) (int64, error) {
	if t.IsZero() {
		return 0, nil
	}
	// UnixNano is undefined outside the years 1678 to 2262.
	const limit = math.MaxInt64 / int64(time.Second)
	if s := t.Unix(); s <= -limit || s >= limit {
		return 0, fmt.Errorf("the time %s cannot be kept", t)
	}
	return t.UnixNano(), nil
}

// cutName returns a name that fits the envelope: valid UTF-8, cut between characters to
// at most maxNameBytes.
func cutName(name string) string {
	name = strings.ToValidUTF8(name, "?")
	if len(name) <= maxNameBytes {
		return name
	}
	cut := maxNameBytes
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut]
}
