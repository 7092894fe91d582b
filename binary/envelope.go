package binary

import (
	"crypto/sha256"
	"encoding/binary"
	"unicode/utf8"

	"github.com/shadercache/shadercache/shader"
)

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
	codec        uint32
	format       uint32
	storedBytes  uint32
	rawBytes     uint32
	workGroup    [3]uint32
	created      int64
	compileNanos int64
	key          shader.Key
	fingerprint  shader.Digest
	interfaceSum shader.Digest
	payloadSum   shader.Digest
	name         string
}

// size returns the size of the header in bytes, which is the payload's offset.
func (h *header) size() int { return fixedBytes + len(h.name) + sha256.Size }

// append appends the header with its checksum to dst.
func (h *header) append(dst []byte) []byte {
	start := len(dst)
	le := binary.LittleEndian
	dst = append(dst, blobMagic...)
	dst = le.AppendUint32(dst, blobVersion)
	dst = le.AppendUint32(dst, h.codec)
	dst = le.AppendUint32(dst, h.format)
	dst = le.AppendUint32(dst, h.storedBytes)
	dst = le.AppendUint32(dst, h.rawBytes)
	dst = le.AppendUint32(dst, uint32(len(h.name)))
	for _, n := range h.workGroup {
		dst = le.AppendUint32(dst, n)
	}
	dst = le.AppendUint32(dst, 0)
	dst = le.AppendUint64(dst, uint64(h.created))
	dst = le.AppendUint64(dst, uint64(h.compileNanos))
	dst = append(dst, h.key[:]...)
	dst = append(dst, h.fingerprint[:]...)
	dst = append(dst, h.interfaceSum[:]...)
	dst = append(dst, h.payloadSum[:]...)
	dst = append(dst, h.name...)
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
		codec:        le.Uint32(data[12:]),
		format:       le.Uint32(data[16:]),
		storedBytes:  le.Uint32(data[20:]),
		rawBytes:     le.Uint32(data[24:]),
		workGroup:    [3]uint32{le.Uint32(data[32:]), le.Uint32(data[36:]), le.Uint32(data[40:])},
		created:      int64(le.Uint64(data[48:])),
		compileNanos: int64(le.Uint64(data[56:])),
		key:          shader.Key(data[64:]),
		fingerprint:  shader.Digest(data[96:]),
		interfaceSum: shader.Digest(data[128:]),
		payloadSum:   shader.Digest(data[160:]),
		name:         string(signed[fixedBytes:]),
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
	case h.compileNanos < 0:
		return damaged("negative compile time")
	case reserved != 0:
		return damaged("reserved bytes are not zero")
	case !utf8.ValidString(h.name):
		return damaged("name is not UTF-8")
	}
	return nil
}
