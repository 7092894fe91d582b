package imaging

import (
	"bytes"
	"encoding/binary"
	"flag"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/testdata/scenetest"
)

func encodedPNG(t *testing.T, picture image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodedJPEG(t *testing.T, picture image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, picture, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// claiming is a PNG file whose header claims another size, with a good checksum.
func claiming(file []byte, width, height uint32) []byte {
	file = bytes.Clone(file)
	header := file[12:29] // "IHDR" and its 13 bytes
	binary.BigEndian.PutUint32(header[4:], width)
	binary.BigEndian.PutUint32(header[8:], height)
	binary.BigEndian.PutUint32(file[29:], crc32.ChecksumIEEE(header))
	return file
}

func TestLoad(t *testing.T) {
	picture := uniform(31, 17, color.NRGBA{200, 100, 50, 255})
	for name, file := range map[string][]byte{"a.png": encodedPNG(t, picture), "a.jpg": encodedJPEG(t, picture)} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Load(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if got.Bounds() != picture.Rect {
			t.Errorf("%s is %v", name, got.Bounds())
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	good := encodedPNG(t, scenetest.Render(64, 48))
	photo := encodedJPEG(t, scenetest.Render(64, 48))
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 0x55
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "not a PNG or JPEG"},
		{"text", []byte("#version 450 core\nvoid main() {}\n"), "not a PNG or JPEG"},
		{"gif", []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"), "not a PNG or JPEG"},
		{"cut in the header", good[:20], "cut off"},
		{"cut off", good[:len(good)/2], "broken"},
		{"cut off photo", photo[:len(photo)/2], "broken"},
		{"flipped byte", flipped, "broken"},
		{"too many pixels", claiming(good, 40_000, 40_000), "40000x40000 is too large"},
		{"too wide", claiming(good, 70_000, 1), "70000x1 is too large"},
		{"no pixels", claiming(good, 0, 10), "broken"},
		{"more pixels than there are", claiming(good, 64, 49), "broken"},
	}
	for _, test := range tests {
		path := filepath.Join(t.TempDir(), "picture")
		if err := os.WriteFile(path, test.file, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Load(path)
		if err == nil || got != nil {
			t.Errorf("%s: no error", test.name)
			continue
		}
		if !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %q does not say %q and name the file", test.name, err, test.want)
		}
	}
	for _, path := range []string{"", t.TempDir(), filepath.Join(t.TempDir(), "missing.png")} {
		if _, err := Load(path); err == nil {
			t.Errorf("no error for %q", path)
		}
	}
}

func FuzzDecode(f *testing.F) {
	picture := uniform(4, 4, color.NRGBA{1, 2, 3, 255})
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add(claiming(file.Bytes(), 1<<31-1, 1<<31-1))
	f.Add([]byte("\xff\xd8\xff\xe0"))
	f.Fuzz(func(t *testing.T, file []byte) {
		picture, err := decode(bytes.NewReader(file))
		if err != nil {
			return
		}
		size := picture.Bounds().Size()
		if err := checkSize(size.X, size.Y); err != nil {
			t.Error(err)
		}
	})
}

func TestWritePNG(t *testing.T) {
	dir, picture := t.TempDir(), uniform(50, 40, color.NRGBA{1, 2, 3, 255})
	path := filepath.Join(dir, "out.png")
	if err := WritePNG(path, picture); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil || got.Bounds() != picture.Rect {
		t.Errorf("read back %v, %v", got, err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := WritePNG(path, image.NewNRGBA(image.Rectangle{})); err == nil {
		t.Error("no error for a picture without pixels")
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the failed write changed the file: %v", err)
	}
	if err := WritePNG(filepath.Join(dir, "missing", "out.png"), picture); err == nil {
		t.Error("no error for a missing directory")
	}
	if err := WritePNG(dir, picture); err == nil {
		t.Error("no error for a directory")
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("%v was left, %v", files, err)
	}
}

var update = flag.Bool("update", false, "draw sample.png again")

// The sample is what testdata/scenetest draws. Processors may round differently in
// the last place, which a hard edge can turn into another colour. Every eighth row is drawn,
// with SHADERCACHE_SOAK=1 all.
// With -update it is drawn again, for the next build.
func TestSampleIsTheScene(t *testing.T) {
	if len(sample) > 400<<10 {
		t.Errorf("the sample has %d bytes", len(sample))
	}
	every := 8
	if os.Getenv("SHADERCACHE_SOAK") != "" {
		every = 1
	}
	if *update {
		if err := WritePNG("sample.png", scenetest.Render(640, 480)); err != nil {
			t.Fatal(err)
		}
	}
	got, want := Sample(), scenetest.RenderRows(640, 480, every)
	if got.Bounds() != want.Rect {
		t.Fatalf("the sample is %v, the scene %v", got.Bounds(), want.Rect)
	}
	different := 0
	for y := 0; y < want.Rect.Dy(); y += every {
		for x := range want.Rect.Dx() {
			g, w := color.NRGBAModel.Convert(got.At(x, y)).(color.NRGBA), want.NRGBAAt(x, y)
			if apart(g.R, w.R) > 2 || apart(g.G, w.G) > 2 || apart(g.B, w.B) > 2 {
				different++
			}
		}
	}
	if limit := want.Rect.Dx() * want.Rect.Dy() / every / 1000; different > limit {
		t.Errorf("%d pixels differ: -update draws the sample again", different)
	}
}

func apart(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }
