package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// Create opens the recording at path, and makes it where it is missing.
func Create(path string) (*Recording, error) {
	for _, folder := range []string{programsFolder, processesFolder} {
		if err := os.MkdirAll(filepath.Join(path, filepath.FromSlash(folder)), 0o700); err != nil {
			return nil, fmt.Errorf("recording: %w", err)
		}
	}
	return &Recording{path}, nil
}

// Add adds a program, unless it is there already.
func (r *Recording) Add(p *Program) (shader.Digest, error) {
	d := p.Digest()
	_, err := r.addProgramFile(d, p.Encode())
	return d, err
}

// addProgramFile writes the file of a program, and reports whether it was missing.
func (r *Recording) addProgramFile(d shader.Digest, content []byte) (added bool, err error) {
	if _, err := r.programFile(d); err == nil {
		return false, nil
	}
	return true, r.write(programName(d), content)
}

// write writes a file. It follows no link out of the recording.
func (r *Recording) write(name string, content []byte) error {
	root, err := os.OpenRoot(r.path)
	if err == nil {
		err = errors.Join(root.MkdirAll(path.Dir(name), 0o700), root.Close())
	}
	if err == nil {
		err = osfile.WriteFile(filepath.Join(r.path, filepath.FromSlash(name)), content)
	}
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	return nil
}

// isLogName reports whether a name can be that of a log.
func isLogName(name string) bool {
	return len(name) <= longestLogName && logName.MatchString(name)
}

const longestLogName = 128

var logName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// maxSameName limits the search for a free name.
const maxSameName = 1000

// addLog writes a log under its name, or where there is another log of that name under the
// next free one. It reports whether there was none with its content.
func (r *Recording) addLog(name string, log []byte) (added bool, err error) {
	for n := range maxSameName {
		file := processesFolder + "/" + name + processExt
		if n > 0 {
			file = fmt.Sprintf("%s/%s.%d%s", processesFolder, name, n, processExt)
		}
		old, err := r.read(file, maxLogBytes)
		if errors.Is(err, fs.ErrNotExist) {
			return true, r.write(file, log)
		}
		if err == nil && bytes.Equal(old, log) {
			return false, nil
		}
	}
	return false, fmt.Errorf("recording: %d logs are named %s", maxSameName, name)
}
