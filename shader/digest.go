package shader

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
)

// Digest is a SHA-256 sum.
type Digest [sha256.Size]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Short returns the first eight hexadecimal digits, for messages.
func (d Digest) Short() string { return hex.EncodeToString(d[:4]) }

// MarshalText returns the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText sets the digest from 64 hexadecimal digits.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("shader: digest has %d digits, not %d", len(text), hex.EncodedLen(len(d)))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// FieldHash hashes a sequence of values. No two sequences give the same bytes:
// every text is preceded by its length, every number has eight bytes.
type FieldHash struct{ sum hash.Hash }

// NewFieldHash returns a hash of no values.
func NewFieldHash() FieldHash { return FieldHash{sha256.New()} }

// Number adds a number.
func (f FieldHash) Number(v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	f.sum.Write(b[:])
}

// Text adds a text.
func (f FieldHash) Text(s string) {
	f.Number(uint64(len(s)))
	f.sum.Write([]byte(s))
}

// Digest returns the hash of the values added so far.
func (f FieldHash) Digest() Digest { return Digest(f.sum.Sum(nil)) }
