package pack

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
)

func putTuning(t testing.TB, d *binary.Dir, of binary.Fingerprint, problem string, nanos float64) {
	t.Helper()
	s, err := d.Store(of)
	must(t, err)
	must(t, s.PutTuning(binary.Tuning{Problem: problem, Choice: json.RawMessage(`{"algorithm":"a"}`), Nanos: nanos}))
}

func tunedNanos(t testing.TB, d *binary.Dir, of binary.Fingerprint, problem string) float64 {
	t.Helper()
	s, err := d.Store(of)
	must(t, err)
	u, err := s.Tuning(problem)
	if !errors.Is(err, binary.ErrNotFound) {
		must(t, err)
	}
	return u.Nanos
}

// Tunings are imported with their driver, and tunings of this machine are kept.
func TestTunings(t *testing.T) {
	from, to := filledDir(t), openDir(t)
	putTuning(t, from, nvidiaFingerprint, "p", 1)
	putTuning(t, from, nvidiaFingerprint, "q", 2)
	putTuning(t, from, mesaFingerprint, "p", 3)
	writeFile(t, from, nvidiaFingerprint.DirName()+"/tuning/"+strings.Repeat("0", 64)+".json", []byte("{}"))
	var b bytes.Buffer
	out, err := Export(&b, from, ExportOptions{})
	if err != nil || out.Tunings != 3 || len(out.LeftOut) != 1 {
		t.Fatalf("exported %+v, %v", out, err)
	}
	data := b.Bytes()
	putTuning(t, to, nvidiaFingerprint, "q", 20)
	in, err := Import(bytes.NewReader(data), to, ImportOptions{Trust: true, Drivers: []binary.Fingerprint{nvidiaFingerprint}})
	if err != nil || in.Tunings != 1 || in.Programs != 2 {
		t.Errorf("imported %+v, %v", in, err)
	}
	if p, q, other := tunedNanos(t, to, nvidiaFingerprint, "p"), tunedNanos(t, to, nvidiaFingerprint, "q"), tunedNanos(t, to, mesaFingerprint, "p"); p != 1 || q != 20 || other != 0 {
		t.Errorf("p takes %v, q %v, p with the other driver %v", p, q, other)
	}
}

// A tuning of another driver, or one that was changed, is refused.
func TestImportRefusesInvalidTunings(t *testing.T) {
	from := openDir(t)
	putTuning(t, from, mesaFingerprint, "p", 1)
	name := tuningOf("p")
	good := tree(t, from.Path())[mesaFingerprint.DirName()+"/"+name]
	if good == "" {
		t.Fatal("the tuning was not stored")
	}
	path := nvidiaFingerprint.DirName() + "/" + name
	for _, content := range []string{good, "{}", strings.Replace(good, "1", "2", 1)} {
		m := &Manifest{Schema: manifestSchema, Fingerprints: []Fingerprint{
			{nvidiaFingerprint.DirName(), nvidiaFingerprint.Digest(), nvidiaFingerprint},
		}, Files: []File{fileOf(path, Tuning, []byte(content))}}
		to := openDir(t)
		_, err := Import(bytes.NewReader(handmade(t, m, plain(path, []byte(content)))), to, ImportOptions{Trust: true, AnyDriver: true})
		if !errors.Is(err, ErrRefused) {
			t.Errorf("got %v", err)
		}
		wantEmpty(t, to)
	}
}

// tuningOf returns the file of a problem below the folder of a driver.
func tuningOf(problem string) string {
	return fmt.Sprintf("tuning/%x.json", sha256.Sum256([]byte(problem)))
}
