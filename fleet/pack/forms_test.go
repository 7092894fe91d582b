package pack

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	cachedir "github.com/shadercache/shadercache/binary"
)

// frame returns a frame of zstd with a window of 1 KiB.
func frame(t testing.TB, content []byte, o ...zstd.EOption) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil, append([]zstd.EOption{zstd.WithWindowSize(zstd.MinWindowSize), zstd.WithEncoderConcurrency(1)}, o...)...)
	must(t, err)
	return z.EncodeAll(content, nil)
}

// skippable returns the head of a skippable frame, and its content.
func skippable(size uint32, content []byte) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{0x50, 0x2A, 0x4D, 0x18}, size), content...)
}

// rle returns a frame of n blocks of 128 KiB, of 4 bytes each, with a window of 2^log bytes.
func rle(n, log int) []byte {
	b := []byte{0x28, 0xB5, 0x2F, 0xFD, 0x00, byte(log-10) << 3}
	for i := range n {
		head := uint32(128<<10)<<3 | 1<<1
		if i == n-1 {
			head |= 1
		}
		b = append(b, byte(head), byte(head>>8), byte(head>>16), 0)
	}
	return b
}

func withSeal(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	s := newSealWriter(&b)
	_, err := s.Write(bytes.Join(parts, nil))
	must(t, errors.Join(err, s.finish()))
	return b.Bytes()
}

// raw changes the header of the n-th member of an archive, and makes its checksum right again.
func raw(content []byte, n int, change func(header []byte)) []byte {
	content = bytes.Clone(content)
	at := 0
	for r := tar.NewReader(bytes.NewReader(content)); n > 0; n-- {
		h, err := r.Next()
		if err != nil {
			panic(err)
		}
		at += 512 + int(h.Size+511)/512*512
	}
	block := content[at : at+512]
	change(block)
	copy(block[148:], "        ")
	sum := 0
	for _, b := range block {
		sum += int(b)
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
	return content
}

// An archive in another form of compression or of tar than that of Export is refused, or has
// the same files, and nothing of it reaches another place.
func TestFormsOfArchives(t *testing.T) {
	code := []byte("machine code")
	good := handmadeArchive(t, manifestOf(fileOf(mesaFile, Mesa, code)), plain(mesaFile, code))
	field := func(n, at int, text string) []byte {
		return sealed(t, raw(good, n, func(h []byte) { copy(h[at:], text) }))
	}
	kind := func(n int, flag byte) []byte {
		return sealed(t, raw(good, n, func(h []byte) { h[156] = flag }))
	}
	pax := func(records map[string]string) []byte {
		h := memberHeader(mesaFile, int64(len(code)))
		h.Format, h.PAXRecords = tar.FormatPAX, records
		manifest, err := manifestOf(fileOf(mesaFile, Mesa, code)).encode()
		must(t, err)
		return sealed(t, archive(t, plain(manifestName, manifest), member{h, code}))
	}
	// before puts a member of a kind, with a content, before the n-th of the archive.
	before := func(n int, flag byte, content string) []byte {
		extra := archive(t, member{memberHeader("x", int64(len(content))), []byte(content)})
		extra = raw(extra[:len(extra)-1024], 0, func(h []byte) { h[156] = flag })
		at := 0
		if n > 0 {
			at = len(good) - 1024 - 1024
		}
		return sealed(t, bytes.Join([][]byte{good[:at], extra, good[at:]}, nil))
	}
	manifest, err := manifestOf().encode()
	must(t, err)
	same := "" // it is imported
	for _, test := range []struct {
		name   string
		bundle []byte
		reason string
	}{
		{"two frames", withSeal(t, frame(t, good[:700]), frame(t, good[700:])), same},
		{"many frames", withSeal(t, bytes.Join([][]byte{frame(t, good[:1]), frame(t, nil), frame(t, good[1:512]), frame(t, good[512:])}, nil)), same},
		{"a skippable frame before", withSeal(t, skippable(5, []byte("extra")), frame(t, good)), same},
		{"a skippable frame between", withSeal(t, frame(t, good[:700]), skippable(0, nil), frame(t, good[700:])), same},
		{"a skippable frame without its content", withSeal(t, frame(t, good[:700]), skippable(0xFFFFFFFF, []byte("x"))), "cannot be unpacked"},
		{"a skippable frame after", withSeal(t, frame(t, good), skippable(5, []byte("extra"))), same},
		{"a frame after the archive", withSeal(t, frame(t, good), frame(t, []byte("x"))), "follows the end"},
		{"bytes after the frame", withSeal(t, frame(t, good), []byte("xxxxx")), "cannot be unpacked"},
		{"a window of 16 MiB", withSeal(t, rle(1, 24)), "cannot be unpacked"},
		{"a window of 2 GiB", withSeal(t, rle(1, 31)), "cannot be unpacked"},
		{"a window of 3.75 TiB", withSeal(t, rle(1, 41)), "cannot be unpacked"},
		{"a dictionary", withSeal(t, frame(t, good, zstd.WithEncoderDictRaw(7, bytes.Repeat([]byte("dictionary"), 20)))), "cannot be unpacked"},
		{"a content size of 2^63", withSeal(t, []byte{0x28, 0xB5, 0x2F, 0xFD, 0xE0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 0}), "cannot be unpacked"},
		{"zeros in few bytes", withSeal(t, rle(1<<14, 20)), "ends before manifest.json"},
		{"zeros after the archive", withSeal(t, frame(t, good), rle(1<<14, 20)), "follows the end"},
		{"zeros within the end of the archive", withSeal(t, frame(t, good[:len(good)-512]), rle(1<<14, 20)), "follows the end"},

		{"a negative size", field(1, 124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "cannot be unpacked"},
		{"a size of 2^63 and more", field(1, 124, "\x80\x00\x00\x00\x80\x00\x00\x00\x00\x00\x00\x00"), "cannot be unpacked"},
		{"a size of 2^62", field(1, 124, "\x80\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00"), "bytes, and 12"},
		{"a size that is none", field(1, 124, "0000000001x\x00"), "cannot be unpacked"},
		{"a size of 2^62 of the manifest", field(0, 124, "\x80\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00"), "are allowed"},
		{"a name with a zero", field(1, len(mesaFile)-2, "\x00"), "in this place"},
		{"a name that goes up", field(1, 0, "../x\x00"), "in this place"},
		{"another case", field(1, 0, "DRIVER"), "in this place"},
		{"a prefix", field(1, 345, "driver"), "in this place"},
		{"the mark of an old file", kind(1, 0), same},
		{"a contiguous file", kind(1, '7'), "not a plain file"},
		{"a sparse file", kind(1, 'S'), "cannot be unpacked"},
		{"a directory", kind(1, '5'), "not a plain file"},
		{"a manifest that is a directory", kind(0, '5'), "not a plain file"},
		{"a manifest that is a link", kind(0, '2'), "a link"},
		{"a manifest that is a sparse file", kind(0, 'S'), "cannot be unpacked"},
		{"a manifest that is a FIFO", kind(0, '6'), "not a plain file"},
		{"records that change the size", pax(map[string]string{"VENDOR.x": "1", "comment": "x"}), "properties"},
		{"records with a size", before(1, 'x', "14 size=100000\n"), "cannot be unpacked"},
		{"records with the size", before(1, 'x', "11 size=12\n"), "properties"},
		{"records with a negative size", before(1, 'x', "11 size=-2\n"), "cannot be unpacked"},
		{"records with a path", before(1, 'x', "16 path=../../x\n"), "in this place"},
		{"records of a sparse file", before(1, 'x', "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"), "cannot be unpacked"},
		{"records of no member", before(1, 'x', "a"), "cannot be unpacked"},
		{"records of all members", before(1, 'g', "16 path=../../x\n"), "not a plain file"},
		{"a long name", before(1, 'L', "../../x\x00"), "in this place"},
		{"a long name that is the name", before(1, 'L', mesaFile+"\x00"), same},
		{"a long link", before(1, 'K', "../../x\x00"), "properties"},
		{"two manifests", sealed(t, archive(t, plain(manifestName, manifest), plain(manifestName, manifest))), "not in the manifest"},
		{"a signature first", sealed(t, archive(t, plain(signatureName, make([]byte, 64)), plain(manifestName, manifest))), "in this place"},
		{"two signatures", sealed(t, archive(t, plain(manifestName, manifest), plain(signatureName, make([]byte, 64)), plain(signatureName, make([]byte, 64)))), "not in the manifest"},
		{"a signature that is long", sealed(t, archive(t, plain(manifestName, manifest), plain(signatureName, make([]byte, 65)))), "are allowed"},
		{"members out of order", handmade(t, manifestOf(fileOf("driver/mesa/a", Mesa, code), fileOf("driver/mesa/b", Mesa, code)), plain("driver/mesa/b", code), plain("driver/mesa/a", code)), "in this place"},
		{"another archive behind", sealed(t, append(bytes.Clone(good), good...)), "follows the end"},
		{"one block of the end", sealed(t, good[:len(good)-512]), same},
		{"no end", sealed(t, good[:len(good)-1024]), same},
		{"a file that is a folder", handmade(t, manifestOf(fileOf("driver/mesa/a", Mesa, code), fileOf("driver/mesa/a/b", Mesa, code)), plain("driver/mesa/a", code), plain("driver/mesa/a/b", code)), "has the place"},
	} {
		t.Run(test.name, func(t *testing.T) {
			home := t.TempDir()
			to, err := cachedir.OpenDir(filepath.Join(home, "a", "cache"))
			must(t, err)
			report, err := Import(bytes.NewReader(test.bundle), to, ImportOptions{Trust: true, AnyDriver: true, MaxBytes: 512 << 20})
			if test.reason == same {
				data, readErr := os.ReadFile(filepath.Join(to.Path(), filepath.FromSlash(mesaFile)))
				if err != nil || report.DriverFiles != 1 || string(data) != string(code) {
					t.Errorf("%+v, %v; %q, %v", report, err, data, readErr)
				}
				return
			}
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("got %v, want a refusal with %q", err, test.reason)
			}
			wantEmpty(t, to)
			if files := tree(t, home); len(files) > 5 {
				t.Errorf("written outside: %q", files)
			}
		})
	}
}
