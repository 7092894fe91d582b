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
	path := notes.path(s.path, key)
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

// FuzzFingerprintFile checks that what is accepted as a fingerprint.json is accepted again
// as it is written, and names a directory.
func FuzzFingerprintFile(f *testing.F) {
	good, err := json.Marshal(fingerprintFile{fingerprintSchema, testFingerprint.Digest(), testFingerprint})
	must(f, err)
	f.Add(good)
	f.Add([]byte(`{"schema":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var file, second fingerprintFile
		if json.Unmarshal(data, &file) != nil || !file.isValid() {
			return
		}
		again, err := json.Marshal(file)
		must(t, err)
		if json.Unmarshal(again, &second) != nil || !second.isValid() || second.Digest != file.Digest {
			t.Errorf("%q became %q", data, again)
		}
		if name := file.Fingerprint.DirName(); !fingerprintDir.MatchString(name) || filepath.Base(name) != name {
			t.Errorf("%q is the directory %q", data, name)
		}
	})
}
