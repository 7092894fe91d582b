package imaging

import (
	"fmt"
	"image"
	"image/png"
	"io"

	"github.com/shadercache/shadercache/internal/osfile"
)

// WritePNG writes a picture to a file. With an error the old file stays: the file
// never holds half a picture. A device or FIFO is not replaced: the picture is written
// to it.
func WritePNG(path string, picture image.Image) error {
	err := osfile.WriteOutput(path, 0o644, func(w io.Writer) error { return png.Encode(w, picture) })
	if err != nil {
		return fmt.Errorf("imaging: write %s: %w", path, err)
	}
	return nil
}
