package binary

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// FuzzQuarantineNote reads a damaged note, which must be ignored or be of its program.
func FuzzQuarantineNote(f *testing.F) {
	s := openTestStore(f, openTestDir(f), testFingerprint)
	key := testBlob(1).Key
	note, err := json.Marshal(Quarantined{Key: key, Name: "x", Action: ActionCompile, Time: s.dir.now()})
	must(f, err)
	f.Add(note)
	f.Add([]byte(`{"key":""}`))
	path := s.quarantinePath(key)
	must(f, os.MkdirAll(filepath.Dir(path), 0o700))
	f.Fuzz(func(t *testing.T, data []byte) {
		must(t, os.WriteFile(path, data, 0o600))
		for _, q := range s.Quarantined() {
			if q.Key != key || q.Until().Before(s.dir.now()) {
				t.Errorf("%q is %+v", data, q)
			}
		}
	})
}

// FuzzFingerprintFile reads a damaged fingerprint.json, which must be that of its
// directory or count as lost.
func FuzzFingerprintFile(f *testing.F) {
	dir := openTestDir(f)
	s := openTestStore(f, dir, testFingerprint)
	must(f, s.Put(testBlob(1)))
	path := filepath.Join(s.path, fingerprintName)
	good, err := os.ReadFile(path)
	must(f, err)
	f.Add(good)
	f.Add([]byte(`{"schema":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		must(t, os.WriteFile(path, data, 0o600))
		drivers, err := dir.Drivers()
		must(t, err)
		for _, d := range drivers {
			if d.Dir != s.name || d.Fingerprint.Vendor != "" && d.Fingerprint.Digest() != testFingerprint.Digest() {
				t.Errorf("%q is %+v", data, d)
			}
		}
	})
}
