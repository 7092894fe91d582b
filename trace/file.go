package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Variable names the file that a process writes its trace to. "%p" in it is the process
// id. Without "%p" only the first process has it: children do not inherit the variable.
const Variable = "SHADERCACHE_TRACE"

// File is a recording that is written to a file.
type File struct {
	*Recorder
	path string

	mu    sync.Mutex // writes one at a time
	about []Attr
}

// NewFile returns a recording that Write writes to path, in which "%p" is the process id.
func NewFile(path string) *File {
	return &File{Recorder: NewRecorder(0), path: strings.ReplaceAll(path, "%p", strconv.Itoa(os.Getpid()))}
}

// FromEnvironment returns the recording of this process that Variable asks for, the same
// at each call, or nil.
var FromEnvironment = sync.OnceValue(func() *File {
	path := os.Getenv(Variable)
	if path == "" {
		return nil
	}
	if !strings.Contains(path, "%p") {
		os.Unsetenv(Variable)
	}
	return NewFile(path)
})

// Path returns the file's path.
func (f *File) Path() string { return f.path }

// Write writes what was recorded until now, in the format of WriteChrome, in place of what
// an earlier call wrote. The file is replaced whole. attrs are those of the whole, and
// stay for later calls.
func (f *File) Write(attrs ...Attr) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.about = setAttrs(f.about, attrs)
	dir, name := filepath.Split(f.path)
	temporary, err := os.CreateTemp(filepath.Clean(dir+"."), name+".*.tmp")
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	defer os.Remove(temporary.Name())
	err = WriteChrome(temporary, f.Recording(f.about...))
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}

// setAttrs returns about with attrs in place of those of the same name.
func setAttrs(about, attrs []Attr) []Attr {
	for _, a := range attrs {
		about = slices.DeleteFunc(about, func(b Attr) bool { return b.Name == a.Name })
		about = append(about, a)
	}
	return about
}
