package binary

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
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

// Encode returns the bytes of a file, which Decode decodes. It compresses the payload
// where that makes it smaller. It returns an error for a payload that is empty or too
// large, and for times that the envelope cannot hold.
func (b *Blob) Encode() ([]byte, error) {
	created, err := unixNanos(b.Created)
	switch {
	case err != nil:
	case len(b.Payload) == 0:
		err = errors.New("the payload is empty")
	case len(b.Payload) > MaxPayloadBytes:
		err = fmt.Errorf("the payload has %d bytes, at most %d are kept", len(b.Payload), MaxPayloadBytes)
	case b.CompileNanos < 0:
		err = fmt.Errorf("the compile time is negative: %d ns", b.CompileNanos)
	}
	if err != nil {
		return nil, fmt.Errorf("binary: encode blob %q: %w", b.Name, err)
	}
	h := header{Blob: *b, created: created, rawBytes: uint32(len(b.Payload))}
	h.Name = cutName(b.Name)
	stored := b.Payload
	if packed := compress(b.Payload); len(packed) < len(b.Payload) {
		stored, h.codec = packed, codecZstd
	}
	h.storedBytes = uint32(len(stored))
	h.payloadSum = sha256.Sum256(stored)
	data := make([]byte, 0, h.size()+len(stored))
	return append(h.append(data), stored...), nil
}

// Decode decodes what Encode returned. For any data it does not panic and allocates
// at most MaxPayloadBytes for the payload. It returns an error that matches ErrDamaged for
// data that Encode did not return, including other versions of the envelope, and leaves b as
// it was. The payload may share memory with data.
func (b *Blob) Decode(data []byte) error {
	h, err := parseHeader(data)
	if err != nil {
		return err
	}
	payload := data[h.size():]
	if len(payload) != int(h.storedBytes) {
		return damaged("payload has %d bytes, the header says %d", len(payload), h.storedBytes)
	}
	if sha256.Sum256(payload) != h.payloadSum {
		return damaged("payload checksum does not match")
	}
	if h.codec == codecZstd {
		if payload, err = decompress(payload, int(h.rawBytes)); err != nil {
			return err
		}
	}
	*b = h.Blob
	b.Payload = payload
	return nil
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
	return strings.ToValidUTF8(name[:min(len(name), maxNameBytes)], "")
}

// The envelope of a blob. Numbers are little endian.
//
//	offset  bytes  field           rule
//	0       8      magic           "GLBLOB\r\n": a transfer as text breaks it visibly
//	8       4      version         1; any other version is refused before more is read
//	12      4      codec           0 = payload as it is, 1 = zstd
//	16      4      format          GL program binary format
//	20      4      stored bytes s  1 to raw bytes; equal for codec 0, less for codec 1
//	24      4      raw bytes       1 to MaxPayloadBytes
//	28      4      name bytes n    0 to maxNameBytes
//	32      12     work group      x, y, z
//	44      4      zero
//	48      8      created         nanoseconds since 1970, signed; 0 = unknown
//	56      8      compile time    nanoseconds, not negative; 0 = unknown
//	64      32     key             SHA-256, see Key
//	96      32     fingerprint     SHA-256, see Fingerprint.Digest
//	128     32     interface       SHA-256, see Interface.Digest
//	160     32     payload sum     SHA-256 of the s stored bytes
//	192     n      name            UTF-8
//	192+n   32     header sum      SHA-256 of bytes 0 to 191+n
//	224+n   s      payload         ends the file
//
// The payload sum covers the stored bytes, so that neither the decompressor
// nor the driver sees a byte that was not written by Encode. A header alone can
// be trusted without reading the payload: that is what lists need.
const (
	blobMagic   = "GLBLOB\r\n"
	blobVersion = 1

	fixedBytes     = 192
	maxHeaderBytes = fixedBytes + maxNameBytes + sha256.Size
	maxBlobBytes   = maxHeaderBytes + MaxPayloadBytes
)

const (
	codecNone = 0
	codecZstd = 1
)

// header is an envelope without the payload. append writes every header that parseHeader
// accepts back to the same bytes.
type header struct {
	Blob        // without its payload
	codec       uint32
	storedBytes uint32
	rawBytes    uint32
	created     int64
	payloadSum  shader.Digest
}

// size returns the size of the header in bytes, which is the payload's offset.
func (h *header) size() int { return fixedBytes + len(h.Name) + sha256.Size }

// append appends the header with its checksum to dst.
func (h *header) append(dst []byte) []byte {
	start := len(dst)
	le := binary.LittleEndian
	dst = append(dst, blobMagic...)
	dst = le.AppendUint32(dst, blobVersion)
	dst = le.AppendUint32(dst, h.codec)
	dst = le.AppendUint32(dst, h.Format)
	dst = le.AppendUint32(dst, h.storedBytes)
	dst = le.AppendUint32(dst, h.rawBytes)
	dst = le.AppendUint32(dst, uint32(len(h.Name)))
	for _, n := range h.WorkGroup {
		dst = le.AppendUint32(dst, n)
	}
	dst = le.AppendUint32(dst, 0)
	dst = le.AppendUint64(dst, uint64(h.created))
	dst = le.AppendUint64(dst, uint64(h.CompileNanos))
	dst = append(dst, h.Key[:]...)
	dst = append(dst, h.Fingerprint[:]...)
	dst = append(dst, h.Interface[:]...)
	dst = append(dst, h.payloadSum[:]...)
	dst = append(dst, h.Name...)
	sum := sha256.Sum256(dst[start:])
	return append(dst, sum[:]...)
}

// parseHeader decodes the header at the start of data; bytes after it are ignored. It
// returns an error that matches ErrDamaged for anything that append did not write.
func parseHeader(data []byte) (*header, error) {
	le := binary.LittleEndian
	if len(data) < len(blobMagic)+4 || string(data[:len(blobMagic)]) != blobMagic {
		return nil, damaged("not a program blob")
	}
	if v := le.Uint32(data[8:]); v != blobVersion {
		return nil, damaged("other version: written in version %d, this program reads version %d", v, blobVersion)
	}
	if len(data) < fixedBytes+sha256.Size {
		return nil, damaged("header cut short at %d bytes", len(data))
	}
	nameBytes := le.Uint32(data[28:])
	if nameBytes > maxNameBytes || len(data) < fixedBytes+int(nameBytes)+sha256.Size {
		return nil, damaged("header cut short, or its name of %d bytes is too long", nameBytes)
	}
	signed := data[:fixedBytes+nameBytes]
	if sha256.Sum256(signed) != shader.Digest(data[len(signed):]) {
		return nil, damaged("header checksum does not match")
	}
	h := &header{
		Blob: Blob{
			Key:          shader.Key(data[64:]),
			Fingerprint:  shader.Digest(data[96:]),
			Format:       le.Uint32(data[16:]),
			Name:         string(signed[fixedBytes:]),
			CompileNanos: int64(le.Uint64(data[56:])),
			WorkGroup:    [3]uint32{le.Uint32(data[32:]), le.Uint32(data[36:]), le.Uint32(data[40:])},
			Interface:    shader.Digest(data[128:]),
		},
		codec:       le.Uint32(data[12:]),
		storedBytes: le.Uint32(data[20:]),
		rawBytes:    le.Uint32(data[24:]),
		created:     int64(le.Uint64(data[48:])),
		payloadSum:  shader.Digest(data[160:]),
	}
	if h.created != 0 {
		h.Created = time.Unix(0, h.created).UTC()
	}
	return h, h.validate(le.Uint32(data[44:]))
}

// validate returns an error for values that append never writes. As the checksum matches,
// another program wrote them.
func (h *header) validate(reserved uint32) error {
	switch {
	case h.rawBytes == 0 || h.rawBytes > MaxPayloadBytes:
		return damaged("payload of %d bytes: 1 to %d are allowed", h.rawBytes, MaxPayloadBytes)
	case h.codec == codecNone && h.storedBytes != h.rawBytes:
		return damaged("%d bytes stored for a plain payload of %d", h.storedBytes, h.rawBytes)
	case h.codec == codecZstd && (h.storedBytes == 0 || h.storedBytes >= h.rawBytes):
		return damaged("%d bytes stored for a compressed payload of %d", h.storedBytes, h.rawBytes)
	case h.codec != codecNone && h.codec != codecZstd:
		return damaged("codec %d is not known", h.codec)
	case h.CompileNanos < 0:
		return damaged("negative compile time")
	case reserved != 0:
		return damaged("reserved bytes are not zero")
	case !utf8.ValidString(h.Name):
		return damaged("name is not UTF-8")
	}
	return nil
}
