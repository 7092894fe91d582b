// Command render writes the project's sample picture:
//
//	go run ./testdata/scene/render -out conv2d/imaging/sample.png
package main

import (
	"bytes"
	"flag"
	"fmt"
	"image/png"
	"os"

	"github.com/shadercache/shadercache/testdata/scene"
)

func main() {
	out := flag.String("out", "sample.png", "file to write")
	width := flag.Int("width", 640, "pixels")
	height := flag.Int("height", 480, "pixels")
	flag.Parse()
	if err := render(*out, *width, *height); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func render(path string, width, height int) error {
	if width < 1 || height < 1 {
		return fmt.Errorf("a picture of %dx%d pixels", width, height)
	}
	var file bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&file, scene.Render(width, height)); err != nil {
		return err
	}
	return os.WriteFile(path, file.Bytes(), 0o644)
}
