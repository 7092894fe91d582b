package nvidia

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

const testFolder = "GLCache/00112233445566778899aabbccddeeff/0123456789abcdef"

// record is one record of a synthetic slot.
type record struct {
	hash, kind uint64
	data       string
}

func (r record) bytes() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 0x9846A19D)
	b = binary.LittleEndian.AppendUint64(b, r.hash)
	b = binary.LittleEndian.AppendUint64(b, r.kind)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(r.data))*0x0101010101010101)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.data)))
	return append(b, r.data...)
}

func testHeader(driver byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte("CDVN"), 0x00030000)
	return append(b, bytes.Repeat([]byte{driver}, 24)...)
}

// testSlot returns the two files of a slot, written as the table in the package comment
// defines and without the code under test.
func testSlot(driver byte, records ...record) (toc, bin []byte) {
	toc, bin = testHeader(driver), testHeader(driver)
	for _, r := range records {
		toc = binary.LittleEndian.AppendUint64(toc, r.hash)
		toc = binary.LittleEndian.AppendUint64(toc, r.kind)
		toc = binary.LittleEndian.AppendUint32(toc, uint32(len(bin)))
		toc = binary.LittleEndian.AppendUint32(toc, uint32(len(r.data)))
		bin = append(bin, r.bytes()...)
	}
	return toc, bin
}

// program returns the three records that the driver keeps for one program.
func program(n uint64) []record {
	return []record{
		{n, 0x837C, strings.Repeat("\x00", 5)},
		{n + 1, 0x75DE, fmt.Sprintf("machine code of %d", n)},
		{n + 2, 0xB4D5, fmt.Sprintf("description of %d", n)},
	}
}

func programs(numbers ...uint64) (list []record) {
	for _, n := range numbers {
		list = append(list, program(n)...)
	}
	return list
}

// files is the files of the test folder by name.
type files map[string][]byte

func (f files) slot(n int, driver byte, records ...record) {
	f[stem(n)+".toc"], f[stem(n)+".bin"] = testSlot(driver, records...)
}

// write makes a driver folder that holds f and returns its path.
func (f files) write(t testing.TB) string {
	t.Helper()
	driver := filepath.Join(t.TempDir(), "driver")
	f.writeTo(t, driver)
	return driver
}

func (f files) writeTo(t testing.TB, driver string) {
	t.Helper()
	folder := filepath.Join(driver, Folder, filepath.FromSlash(testFolder))
	must(t, os.RemoveAll(folder))
	must(t, os.MkdirAll(folder, 0o700))
	for name, data := range f {
		must(t, os.WriteFile(filepath.Join(folder, name), data, 0o600))
	}
}

func readFiles(t testing.TB, driver string) files {
	t.Helper()
	f := files{}
	folder := filepath.Join(driver, Folder, filepath.FromSlash(testFolder))
	must(t, filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			f[d.Name()], err = os.ReadFile(name)
		}
		return err
	}))
	return f
}

// valid reports whether slot n exists and has the format that Merge accepts.
func (f files) valid(n int) bool {
	toc, ok := f[stem(n)+".toc"]
	bin, both := f[stem(n)+".bin"]
	if !ok || !both {
		return false
	}
	_, err := parseSlot(toc, bytes.NewReader(bin))
	return err == nil
}

// records returns the records of all valid slots, by identity, from the lowest slot
// that has them.
func (f files) records() map[RecordID]string {
	all := map[RecordID]string{}
	for n := 9; n >= 0; n-- {
		bin := f[stem(n)+".bin"]
		s, err := parseSlot(f[stem(n)+".toc"], bytes.NewReader(bin))
		if err != nil {
			continue
		}
		for _, e := range s.entries {
			all[e.id] = string(bin[e.offset:e.end()])
		}
	}
	return all
}

func (f files) names() []string {
	var names []string
	for n := range maps.Keys(f) {
		names = append(names, n)
	}
	return names
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
