package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// ReadFile reads one file with what it includes. root is the folder that names in the
// source are relative to, and that includes may reach: the working directory for files
// below it, so that messages show short names, else "/".
func ReadFile(path string, defines shader.Defines) (source *shader.Source, root string, err error) {
	root, below := splitRoot(path)
	source, err = shader.ReadSource(os.DirFS(root), below, defines)
	return source, root, err
}

func splitRoot(path string) (root, below string) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return ".", filepath.ToSlash(path)
	}
	if here, err := filepath.Abs("."); err == nil {
		if short, err := filepath.Rel(here, absolute); err == nil && filepath.IsLocal(short) {
			return here, filepath.ToSlash(short)
		}
	}
	return "/", strings.TrimPrefix(filepath.ToSlash(absolute), "/")
}

// Files returns path where it is a file, else the files below it that have one of the
// extensions. It returns what it found with an error too: of folders that cannot be
// read, or of one that holds no such file.
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
	_ = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			errs = append(errs, err)
		} else if !d.IsDir() && slices.Contains(extensions, filepath.Ext(file)) {
			files = append(files, file)
		}
		return nil
	})
	if len(errs) == 0 && len(files) == 0 {
		errs = append(errs, fmt.Errorf("the folder %s holds no %s files", path, strings.Join(extensions, " or ")))
	}
	return files, errors.Join(errs...)
}
