package binary

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Probe returns the stored result, and none that is damaged or of another driver.
func TestProbeIsOfOneDriver(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	if _, err := s.Probe(); !errors.Is(err, ErrNotFound) {
		t.Errorf("before PutProbe: %v", err)
	}
	must(t, s.PutProbe([]byte(`{"residency":132}`)))
	got, err := openTestStore(t, d, testFingerprint).Probe()
	must(t, err)
	if want := `"residency": 132`; !strings.Contains(string(got), want) {
		t.Errorf("%s has no %s", got, want)
	}
	other := openTestStore(t, d, otherFingerprint)
	path := filepath.Join(s.path, probeName)
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, os.MkdirAll(other.path, 0o700))
	must(t, os.WriteFile(filepath.Join(other.path, probeName), data, 0o600))
	if _, err := other.Probe(); !errors.Is(err, ErrDamaged) {
		t.Errorf("another driver's: %v", err)
	}
	must(t, os.WriteFile(path, data[:len(data)/2], 0o600))
	if _, err := s.Probe(); !errors.Is(err, ErrDamaged) {
		t.Errorf("half a file: %v", err)
	}
	if err := s.PutProbe([]byte("{")); err == nil {
		t.Error("text that is not JSON was stored")
	}
}
