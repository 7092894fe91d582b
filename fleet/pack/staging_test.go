package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// withCPUs calls test with one CPU and with several.
func withCPUs(t *testing.T, test func(t *testing.T)) {
	for _, n := range []int{1, 4} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
			test(t)
		})
	}
}

func stagingIn(t *testing.T) (s *staging, folder string) {
	t.Helper()
	folder = t.TempDir()
	root, err := os.OpenRoot(folder)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	s, err = newStaging(root)
	must(t, err)
	return s, filepath.Join(folder, stagingNew)
}

// content returns what the i-th file has: nothing, some bytes, or nearly a whole batch.
func content(i int) []byte {
	return bytes.Repeat([]byte{byte(i)}, []int{0, 5, 4000, batchBytes - 1}[i%4])
}

func addFile(t *testing.T, s *staging, name string, data []byte) {
	t.Helper()
	space, err := s.add(name, len(data))
	must(t, err)
	copy(space, data)
}

func TestStaging(t *testing.T) {
	withCPUs(t, func(t *testing.T) {
		s, folder := stagingIn(t)
		nameOf := func(i int) string { return fmt.Sprintf("%s/%d", []string{"a", "a/b", "a/b/c", "d/b"}[i/7%4], i) }
		for i := range 200 {
			addFile(t, s, nameOf(i), content(i))
			if i%50 == 0 {
				large, err := s.create(nameOf(i) + "-large")
				must(t, err)
				_, err = large.Write(content(2))
				must(t, errors.Join(err, large.Close()))
			}
		}
		must(t, s.finish())
		for i := range 200 {
			if got, err := os.ReadFile(filepath.Join(folder, nameOf(i))); err != nil || !bytes.Equal(got, content(i)) {
				t.Errorf("file %d has %d bytes, should have %d: %v", i, len(got), len(content(i)), err)
			}
		}
		if found := len(tree(t, folder)); found != 204 {
			t.Errorf("%d files, should be 204", found)
		}
	})
}

// A file that cannot be written ends the import, whichever goroutine writes it.
func TestStagingFails(t *testing.T) {
	withCPUs(t, func(t *testing.T) {
		s, folder := stagingIn(t)
		must(t, os.MkdirAll(filepath.Join(folder, "a"), 0o700))
		must(t, os.WriteFile(filepath.Join(folder, "a/3"), nil, 0o600))
		for i := range 4 {
			addFile(t, s, fmt.Sprintf("a/%d", i), content(1))
		}
		if err := s.finish(); !errors.Is(err, fs.ErrExist) {
			t.Errorf("finish: %v", err)
		}
		s, folder = stagingIn(t)
		must(t, os.WriteFile(filepath.Join(folder, "a"), nil, 0o600))
		var err error
		added := 0
		for ; err == nil && added < 1000; added++ { // each in a batch of its own
			_, err = s.add(fmt.Sprintf("a/%d", added), batchBytes)
		}
		if err == nil {
			t.Error("no error after 1000 files that cannot be written")
		}
		if again := s.finish(); !errors.Is(again, err) {
			t.Errorf("finish: %v, after %v", again, err)
		}
	})
}
