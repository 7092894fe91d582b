package binary

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

func encode(t testing.TB, b *Blob) []byte {
	t.Helper()
	data, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestBlobRoundTrip(t *testing.T) {
	random := make([]byte, 5000)
	for i := range random {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		random[i] = sum[0]
	}
	tests := map[string]func(b *Blob){
		"usual":            func(*Blob) {},
		"incompressible":   func(b *Blob) { b.Payload = random },
		"one byte":         func(b *Blob) { b.Payload = []byte{7} },
		"zeros":            func(b *Blob) { b.Payload = make([]byte, 1<<20) },
		"no name":          func(b *Blob) { b.Name = "" },
		"longest name":     func(b *Blob) { b.Name = strings.Repeat("n", maxNameBytes) },
		"no times":         func(b *Blob) { b.Created, b.CompileNanos = time.Time{}, 0 },
		"before 1970":      func(b *Blob) { b.Created = time.Date(1800, 1, 1, 0, 0, 0, 1, time.UTC) },
		"largest numbers":  func(b *Blob) { b.Format, b.WorkGroup, b.CompileNanos = 1<<32-1, [3]uint32{1<<32 - 1, 1, 0}, 1<<63-1 },
		"all digests zero": func(b *Blob) { b.Key, b.Fingerprint, b.Interface = shader.Key{}, shader.Digest{}, shader.Digest{} },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			want := testBlob(1)
			change(want)
			data := encode(t, want)
			if len(data) > maxHeaderBytes+len(want.Payload) {
				t.Errorf("%d bytes for a payload of %d", len(data), len(want.Payload))
			}
			got, err := decodeBlob(data)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
			if again := encode(t, got); !bytes.Equal(again, data) {
				t.Error("encoding what was decoded gives other bytes")
			}
		})
	}
}

func TestBlobIsCompressedOnlyWhereSmaller(t *testing.T) {
	b := testBlob(1)
	if data := encode(t, b); len(data) > len(b.Payload)/2 {
		t.Errorf("%d bytes for a payload of %d that compresses well", len(data), len(b.Payload))
	}
	b.Payload = []byte{1, 2, 3}
	if data := encode(t, b); len(data) != fixedBytes+len(b.Name)+sha256.Size+3 {
		t.Errorf("%d bytes for a payload of 3", len(data))
	}
}

func TestEncodeCutsNames(t *testing.T) {
	for name, want := range map[string]string{
		"broken \xff text":                             "broken ? text",
		strings.Repeat("n", maxNameBytes+1):            strings.Repeat("n", maxNameBytes),
		strings.Repeat("n", maxNameBytes-1) + "\u00e9": strings.Repeat("n", maxNameBytes-1),
	} {
		b := testBlob(1)
		b.Name = name
		got, err := decodeBlob(encode(t, b))
		must(t, err)
		if got.Name != want {
			t.Errorf("name %.20q... came back as %.20q..., %d bytes", name, got.Name, len(got.Name))
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	tests := map[string]func(b *Blob){
		"payload is empty":      func(b *Blob) { b.Payload = nil },
		"at most 67108864":      func(b *Blob) { b.Payload = make([]byte, MaxPayloadBytes+1) },
		"negative":              func(b *Blob) { b.CompileNanos = -1 },
		"the time 3000-01-01 0": func(b *Blob) { b.Created = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC) },
	}
	for want, change := range tests {
		b := testBlob(1)
		change(b)
		if _, err := b.Encode(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error about %q", err, want)
		}
	}
}

func TestBlobGolden(t *testing.T) {
	// The payload does not compress, so the bytes do not depend on the
	// compressor's version.
	b := testBlob(1)
	b.Payload = []byte("0123456789abcdef")
	checkGolden(t, "blob_v1.bin", encode(t, b))
}

func TestCompressedBlobOfTheFirstVersionIsRead(t *testing.T) {
	path := filepath.Join("testdata", "blob_v1_zstd.bin")
	if *update {
		must(t, os.WriteFile(path, encode(t, testBlob(2)), 0o644))
	}
	data, err := os.ReadFile(path)
	must(t, err)
	got, err := decodeBlob(data)
	must(t, err)
	if !reflect.DeepEqual(got, testBlob(2)) {
		t.Errorf("got %+v", got)
	}
}

func TestEveryFlippedBitIsRefused(t *testing.T) {
	for _, payload := range [][]byte{testPayload(3, 4000), []byte("abc")} {
		b := testBlob(1)
		b.Payload = payload
		data := encode(t, b)
		for i := range data {
			for bit := range 8 {
				data[i] ^= 1 << bit
				if _, err := decodeBlob(data); !errors.Is(err, ErrDamaged) {
					t.Fatalf("bit %d of byte %d flipped: got %v, want ErrDamaged", bit, i, err)
				}
				data[i] ^= 1 << bit
			}
		}
	}
}

func TestEveryOtherLengthIsRefused(t *testing.T) {
	data := encode(t, testBlob(1))
	for n := range data {
		if _, err := decodeBlob(data[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d bytes: got %v, want ErrDamaged", n, err)
		}
	}
	if _, err := decodeBlob(append(data, 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("one byte more: got %v, want ErrDamaged", err)
	}
}

// seal changes a header and writes a checksum that matches.
func seal(data []byte, change func(data []byte)) []byte {
	data = bytes.Clone(data)
	change(data)
	n := fixedBytes + int(binary.LittleEndian.Uint32(data[28:]))
	sum := sha256.Sum256(data[:n])
	copy(data[n:], sum[:])
	return data
}

func TestInvalidHeadersAreRefused(t *testing.T) {
	put := func(offset int, v uint32) func([]byte) {
		return func(data []byte) { binary.LittleEndian.PutUint32(data[offset:], v) }
	}
	plain := testBlob(1)
	plain.Payload = []byte("abc")
	tests := []struct {
		name   string
		blob   *Blob
		change func([]byte)
		reason string
	}{
		{"no payload", plain, put(24, 0), "payload of 0 bytes"},
		{"payload too large", testBlob(1), put(24, MaxPayloadBytes+1), "payload of 67108865 bytes"},
		{"plain lengths differ", plain, put(24, 4), "3 bytes stored for a plain payload of 4"},
		{"compressed is not smaller", testBlob(1), put(24, 10), "compressed payload of 10"},
		{"decompresses to more", testBlob(1), put(24, 3999), "does not decompress"},
		{"decompresses to less", testBlob(1), put(24, 4001), "decompresses to 4000 bytes"},
		{"codec", testBlob(1), put(12, 2), "codec 2"},
		{"reserved", testBlob(1), put(44, 1), "reserved"},
		{"compile time", testBlob(1), put(60, 1<<31), "negative"},
		{"name", testBlob(1), func(data []byte) { data[fixedBytes] = 0xff }, "UTF-8"},
		{"stored length", testBlob(1), put(20, 1), "the header says 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := decodeBlob(seal(encode(t, test.blob), test.change))
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("got %v, want damage with reason %q", err, test.reason)
			}
		})
	}
}

func TestOtherVersionIsNamed(t *testing.T) {
	data := encode(t, testBlob(1))
	data[8] = 2
	_, err := decodeBlob(data)
	bad, ok := errors.AsType[*damagedError](err)
	if !ok || !strings.HasPrefix(bad.Reason, "other version: written in version 2, ") {
		t.Errorf("got %v", err)
	}
}

func TestEnvelopeTable(t *testing.T) {
	data := encode(t, testBlob(1))
	b := testBlob(1)
	for offset, want := range map[int]string{
		0:   hex.EncodeToString([]byte("GLBLOB\r\n")),
		8:   "01000000",
		12:  "01000000",
		16:  "218e0000",
		24:  "a00f0000",
		28:  "12000000",
		32:  "100000001000000001000000",
		44:  "00000000",
		64:  b.Key.String(),
		96:  b.Fingerprint.String(),
		128: b.Interface.String(),
		192: hex.EncodeToString([]byte(b.Name)),
	} {
		if got := hex.EncodeToString(data[offset : offset+len(want)/2]); got != want {
			t.Errorf("offset %d: got %s, want %s", offset, got, want)
		}
	}
}

func decodeBlob(data []byte) (*Blob, error) {
	b := &Blob{}
	return b, b.Decode(data)
}

func FuzzBlobDecode(f *testing.F) {
	small := testBlob(1)
	small.Payload = []byte("abc")
	for _, b := range []*Blob{testBlob(1), small} {
		data, err := b.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)-1])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// Also with checksums that match, so that the fuzzer gets past them.
		for _, data := range [][]byte{data, resealed(data)} {
			checkDecode(t, data)
		}
	})
}

// resealed returns data with checksums that match, as far as it has room for them.
func resealed(data []byte) []byte {
	if len(data) < fixedBytes+sha256.Size {
		return data
	}
	data = bytes.Clone(data)
	n := fixedBytes + int(binary.LittleEndian.Uint32(data[28:])%(maxNameBytes+1))
	if n+sha256.Size > len(data) {
		return data
	}
	payload := sha256.Sum256(data[n+sha256.Size:])
	copy(data[160:], payload[:])
	sum := sha256.Sum256(data[:n])
	copy(data[n:], sum[:])
	return data
}

// checkDecode checks that data is refused as damaged, or that encoding what was decoded
// gives the same header bytes and the same blob.
func checkDecode(t *testing.T, data []byte) {
	b, err := decodeBlob(data)
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("error that is not damage: %v", err)
		}
		return
	}
	h, err := parseHeader(data)
	must(t, err)
	if again := append(h.append(nil), data[h.size():]...); !bytes.Equal(again, data) {
		t.Fatal("parse and write gives other bytes")
	}
	again, err := decodeBlob(encode(t, b))
	must(t, err)
	if !reflect.DeepEqual(again, b) {
		t.Fatalf("decode and encode gives another blob:\n%+v\n%+v", again, b)
	}
}

func BenchmarkBlobDecode(b *testing.B) {
	blob := testBlob(1)
	blob.Payload = testPayload(1, 18<<10)
	data := encode(b, blob)
	b.SetBytes(int64(len(blob.Payload)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeBlob(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeBlob(b *testing.B) {
	blob := testBlob(1)
	blob.Payload = testPayload(1, 18<<10)
	b.SetBytes(int64(len(blob.Payload)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := blob.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}
