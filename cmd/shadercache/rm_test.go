package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/shadercache/shadercache/cmd/cli"
)

// TestRmOfAnEmptyName deletes nothing: neither a damaged program, whose name is not known, nor
// one of many.
func TestRmOfAnEmptyName(t *testing.T) {
	t.Parallel()
	for _, programs := range []int{1, 3} {
		path := t.TempDir()
		fillStore(t, path, programs)
		files, err := filepath.Glob(filepath.Join(path, "*/blobs/*/*.bin"))
		if err != nil || len(files) != programs {
			t.Fatal(files, err)
		}
		for _, file := range files {
			if err := os.Truncate(file, 10); err != nil {
				t.Fatal(err)
			}
		}
		o := &options{Options: cli.Options{Dir: path, Stdout: io.Discard, Stderr: io.Discard, LogLevel: 4}}
		if r, err := o.rm([]string{""}, false); err == nil {
			t.Errorf("deleted %d of %d", r.Programs, programs)
		}
	}
}
