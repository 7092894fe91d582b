package imaging

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // a format that decode reads
	_ "image/png"  // a format that decode reads
	"io"
	"os"
)

// Limits of a picture. They bound the memory that an untrusted file can take:
// a picture at the limit takes about 130 MB, its filtered copy as much again.
const (
	maxFileBytes = 256 << 20
	maxPixels    = 1 << 25
	maxSide      = 65_535 // of JPEG
)

// Load reads a PNG or JPEG file. It fails for a file that is missing, broken, of
// another format, or larger than the limits.
func Load(path string) (image.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("imaging: %w", err)
	}
	defer f.Close()
	picture, err := decode(f)
	if err != nil {
		return nil, fmt.Errorf("imaging: load %s: %w", path, err)
	}
	return picture, nil
}

// decode reads a PNG or JPEG picture.
func decode(r io.Reader) (image.Image, error) {
	file, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(file) > maxFileBytes {
		return nil, fmt.Errorf("the file is larger than %d MB", maxFileBytes>>20)
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return nil, broken(err)
	}
	if err := checkSize(config.Width, config.Height); err != nil {
		return nil, err
	}
	picture, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, broken(err)
	}
	return picture, nil
}

// broken returns the error for a picture that did not decode.
func broken(err error) error {
	if errors.Is(err, image.ErrFormat) {
		return errors.New("this is not a PNG or JPEG picture")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("the picture is cut off: %w", err)
	}
	return fmt.Errorf("the picture is broken: %w", err)
}

func checkSize(width, height int) error {
	if width < 1 || height < 1 {
		return fmt.Errorf("a picture of %dx%d has no pixels", width, height)
	}
	if width > maxSide || height > maxSide || width*height > maxPixels {
		return fmt.Errorf("a picture of %dx%d is too large: at most %d million pixels, and %d on a side",
			width, height, maxPixels/1_000_000, maxSide)
	}
	return nil
}

//go:generate go run ../../testdata/scenetest/render -out sample.png

//go:embed sample.png
var sample []byte

// Sample is the picture that comes with the package, 640x480 pixels: spheres on
// a checkerboard, drawn by the tests: testdata/scenetest.
func Sample() image.Image {
	picture, err := decode(bytes.NewReader(sample))
	if err != nil {
		panic("imaging: the embedded sample picture does not decode: " + err.Error())
	}
	return picture
}
