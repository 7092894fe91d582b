package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files returns path where it is a file, else the files below it that have one of the
// extensions. A path that is a link to a folder is followed; links below it are not.
// It returns what it found with an error too: of folders that cannot be read, or of one
// that holds no such file.
func Files(path string, extensions ...string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	var errs []error
	_ = fs.WalkDir(os.DirFS(path), ".", func(below string, d fs.DirEntry, err error) error {
		file := filepath.Join(path, filepath.FromSlash(below))
		if err != nil {
			errs = append(errs, named(file, err))
		} else if !d.IsDir() && slices.Contains(extensions, filepath.Ext(below)) {
			files = append(files, file)
		}
		return nil
	})
	if len(errs) == 0 && len(files) == 0 {
		errs = append(errs, fmt.Errorf("the folder %s holds no %s files", path, strings.Join(extensions, " or ")))
	}
	return files, errors.Join(errs...)
}

// named returns an error about a path below a folder with the whole path.
func named(file string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: e.Op, Path: file, Err: e.Err}
	}
	return err
}
