package imaging

import (
	"fmt"
	"image"
	"image/png"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// WritePNG writes a picture to a file. With an error the old file stays: the file
// never holds half a picture.
func WritePNG(path string, picture image.Image) error {
	if err := writePNG(path, picture); err != nil {
		return fmt.Errorf("imaging: write %s: %w", path, err)
	}
	return nil
}

func writePNG(path string, picture image.Image) error {
	f, err := renameio.NewPendingFile(path,
		renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if err := png.Encode(f, picture); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
