package trace

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shadercache/shadercache/internal/osfile"
)

// Variable names the file that a process writes its trace to. "%p" in it is the process
// id. Without "%p" only the first process has it: children do not inherit the variable.
const Variable = "SHADERCACHE_TRACE"

// File is a recording that is written to a file. Its methods may be called from any
// goroutine.
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
// an earlier call wrote. A file is replaced whole, a device or a FIFO is written to. attrs
// are those of the whole, and stay for later calls.
func (f *File) Write(attrs ...Attr) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.about = setAttrs(f.about, attrs)
	recording := f.Recording(f.about...)
	err := osfile.WriteOutput(f.path, 0o600, func(w io.Writer) error { return WriteChrome(w, recording) })
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
