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
	_, err := blobsOf(of).decode(key, data)
	return err
}

// CheckSource returns a *DamagedError unless data is the file of a source.
func CheckSource(key shader.Key, data []byte) error {
	_, err := decodeSource(key, data)
	return err
}
