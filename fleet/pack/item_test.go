package pack

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
)

func itemSet(items []Item) map[Item]struct{} {
	set := map[Item]struct{}{}
	for _, i := range items {
		set[i] = struct{}{}
	}
	return set
}

// A bundle without the items of another has what was added since, on each driver, and both
// together have what one of all has.
func TestBundleOfWhatIsNew(t *testing.T) {
	from := filledDir(t)
	var first, second bytes.Buffer
	r, err := Export(&first, from, ExportOptions{})
	must(t, err)
	if _, err := Export(io.Discard, from, ExportOptions{Without: itemSet(r.Items)}); !errors.Is(err, ErrEmpty) {
		t.Errorf("a bundle of nothing: %v", err)
	}
	put(t, from, nvidiaFingerprint, 3)
	put(t, from, mesaFingerprint, 2)
	must(t, from.PutSource(testSource(2)))
	writeFile(t, from, mesaFile+"x", []byte("more code"))
	for n, numbers := range [][]byte{{4}, {2, 5}} { // record 2 is known
		toc, bin := nvidiaSlot(numbers...)
		writeFile(t, from, fmt.Sprintf("%s/shadercache%d.toc", slotFolder, n+2), toc)
		writeFile(t, from, fmt.Sprintf("%s/shadercache%d.bin", slotFolder, n+2), bin)
	}
	added, err := Export(&second, from, ExportOptions{Without: itemSet(r.Items)})
	must(t, err)
	if added.Programs != 2 || added.Sources != 1 || added.DriverFiles != 5 || len(added.Items) != 6 {
		t.Errorf("added: %+v", added)
	}
	to := openDir(t)
	var items []Item
	for _, data := range [][]byte{first.Bytes(), second.Bytes()} {
		r, err := Import(bytes.NewReader(data), to, ImportOptions{AnyDriver: true, Trust: true})
		must(t, err)
		items = append(items, r.Items...)
		listed, err := Items(bytes.NewReader(data), ImportOptions{AnyDriver: true, Trust: true, MaxBytes: 1 << 30})
		if err != nil || !slices.Equal(listed, r.Items) {
			t.Errorf("%d items are listed and %d imported: %v", len(listed), len(r.Items), err)
		}
	}
	if want := append(r.Items, added.Items...); !maps.Equal(itemSet(items), itemSet(want)) || len(items) != len(want) {
		t.Errorf("imported %d items, exported %d", len(items), len(want))
	}
	_, err = drivercache.Merge(from.DriverDir())
	must(t, err)
	if all, err := Export(io.Discard, from, ExportOptions{}); err != nil || len(itemSet(all.Items)) != len(itemSet(items)) {
		t.Errorf("%d items are there, and %d were imported: %v", len(itemSet(all.Items)), len(itemSet(items)), err)
	}
}

func TestExpected(t *testing.T) {
	from := openDir(t)
	put(t, from, mesaFingerprint, 1, 2)
	data := exported(t, from, ExportOptions{})
	right := Expected{SHA256: sha256.Sum256(data), Size: int64(len(data)), Fingerprint: mesaFingerprint.Digest()}
	for name, test := range map[string]struct {
		change func(e *Expected)
		data   []byte
		says   string
	}{
		"right":     {func(*Expected) {}, data, ""},
		"digest":    {func(e *Expected) { e.SHA256 = shader.Digest{} }, data, "its digest is"},
		"less":      {func(e *Expected) { e.Size++ }, data, "it ends after"},
		"more":      {func(e *Expected) { e.Size-- }, data, "more than the expected"},
		"driver":    {func(e *Expected) { e.Fingerprint = nvidiaFingerprint.Digest() }, data, "it has programs of driver"},
		"truncated": {func(*Expected) {}, data[:len(data)/2], "it ends after"},
		"empty":     {func(*Expected) {}, nil, "it ends after"},
	} {
		e, to := right, openDir(t)
		test.change(&e)
		r, err := Import(bytes.NewReader(test.data), to, ImportOptions{Drivers: []binary.Fingerprint{mesaFingerprint}, Expect: &e})
		if test.says == "" {
			if err != nil || r.Programs != 2 || r.Trust != TrustDigest {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			continue
		}
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
		wantEmpty(t, to)
	}
}

// An import into a directory that has some of the folders adds to them.
func TestImportIntoAPartOfTheFolders(t *testing.T) {
	from := filledDir(t)
	for n := range 30 {
		put(t, from, mesaFingerprint, n)
		writeFile(t, from, fmt.Sprintf("driver/mesa/mesa_shader_cache/%02x/%038x", n%5, n), []byte{byte(n)})
	}
	data := exported(t, from, ExportOptions{})
	fresh, partly := openDir(t), openDir(t)
	whole, err := Import(bytes.NewReader(data), fresh, ImportOptions{AnyDriver: true, Trust: true})
	must(t, err)
	put(t, partly, mesaFingerprint, 3, 7, 100)
	writeFile(t, partly, "driver/mesa/mesa_shader_cache/01/own", []byte("own"))
	writeFile(t, partly, "driver/mesa/mesa_shader_cache/02/"+fmt.Sprintf("%038x", 2), []byte{2})
	added, err := Import(bytes.NewReader(data), partly, ImportOptions{AnyDriver: true, Trust: true})
	must(t, err)
	if added.Programs != whole.Programs-2 || added.DriverFiles != whole.DriverFiles-1 || added.Present != 3 {
		t.Errorf("added %+v, whole %+v", added, whole)
	}
	got := tree(t, partly.Path())
	for name, content := range tree(t, fresh.Path()) {
		if got[name] != content {
			t.Errorf("%s differs", name)
		}
	}
	for _, d := range []string{fresh.Path(), partly.Path()} {
		for name := range tree(t, d) {
			if strings.HasPrefix(name, stagingName+"/") {
				t.Errorf("%s was left", name)
			}
		}
	}
}
