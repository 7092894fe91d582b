package binary

import (
	"path"

	"github.com/shadercache/shadercache/shader"
)

// CheckFile returns an error that matches ErrDamaged unless data is the content of a file of a cache
// directory, for those that install files: a source, or a program or tuning of the driver
// with a fingerprint. Of the path, which has slashes, the last part counts.
func CheckFile(fingerprint shader.Digest, file string, data []byte) error {
	name := path.Base(file)
	for _, check := range []func(string, []byte) (known bool, err error){
		blobsOf(fingerprint).check, sources.check, tuningsOf(fingerprint).check,
	} {
		if known, err := check(name, data); known {
			return err
		}
	}
	return damaged("is not the name of a program, a source or a tuning")
}

// check checks the content of a file, and returns false for the name of another kind.
func (k perKey[T]) check(name string, data []byte) (known bool, err error) {
	key, known := k.key("", name)
	switch {
	case !known:
	case int64(len(data)) > k.limit:
		err = damaged("has %d bytes, at most %d are possible", len(data), k.limit)
	default:
		_, err = k.decode(key, data)
	}
	return known, err
}
