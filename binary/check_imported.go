package binary

import (
	"github.com/shadercache/shadercache/shader"
)

// CheckBlob returns a *DamagedError unless data is the file of a program of a driver, for
// those that install files. A Get checks the same in Store.read.
func CheckBlob(of shader.Digest, key shader.Key, data []byte) error {
	if len(data) > maxBlobBytes {
		return damaged("has %d bytes, at most %d are possible", len(data), maxBlobBytes)
	}
	b, err := DecodeBlob(data)
	if err != nil {
		return err
	}
	s := Store{digest: of}
	return s.checkIdentity(b, key)
}

// CheckSource returns a *DamagedError unless data is the file of a source.
func CheckSource(key shader.Key, data []byte) error {
	src, err := decodeSource(data)
	if err == nil && src.Key() != key {
		err = damaged("holds the source of %s", src.Key().Short())
	}
	return err
}
