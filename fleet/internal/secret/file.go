package secret

import (
	"errors"
	"io/fs"
	"os"

	"github.com/shadercache/shadercache/internal/osfile"
)

// maxFile is far above the certificates of a system: 0.3 MiB.
const maxFile = 4 << 20

// ReadFile reads a file with credentials or certificates. Only a regular one is read, and of a
// size that such files have: a FIFO without a writer would hold each start up for ever.
func ReadFile(path string) ([]byte, error) {
	return osfile.ReadRegular(path, maxFile, os.Stat, os.OpenFile)
}

// CheckFiles returns an error where ReadFile refuses one of the files, which a library will
// read. Those that are not there, or not for us, are no error.
func CheckFiles(paths ...string) error {
	for _, path := range paths {
		if _, err := ReadFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}
