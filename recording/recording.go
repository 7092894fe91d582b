package recording

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// The folders of a recording, and the extensions of their files.
const (
	programsFolder  = "v1/programs"
	processesFolder = "v1/processes"
	programExt      = ".bin"
	processExt      = ".log"
)

// maxLogBytes is the length to which a log is read.
const maxLogBytes = 64 << 20

// Recording is a recording on disk. It holds no open files, and may be used from any
// goroutine, while recorders add to it.
type Recording struct{ path string }

// Is reports whether path is a recording: a folder with v1/programs.
func Is(path string) bool {
	info, err := os.Stat(filepath.Join(path, filepath.FromSlash(programsFolder)))
	return err == nil && info.IsDir()
}

// Open returns the recording at path. It returns ErrNotRecording, wrapped, for another
// folder.
func Open(path string) (*Recording, error) {
	if Is(path) {
		return &Recording{path}, nil
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	versions, _ := filepath.Glob(filepath.Join(path, "v[0-9]*", "programs"))
	if len(versions) > 0 {
		return nil, fmt.Errorf("%w of a version that this program reads: %s has %s", ErrNotRecording, path, filepath.Base(filepath.Dir(versions[0])))
	}
	return nil, fmt.Errorf("%w: %s has no %s", ErrNotRecording, path, programsFolder)
}

// Path returns the path that was given to Open.
func (r *Recording) Path() string { return r.path }

// Digests returns the names of the programs, sorted. It reads no file. A folder that cannot
// be read is an error.
func (r *Recording) Digests() (list []shader.Digest, err error) {
	for first := range 256 {
		err := r.each(fmt.Sprintf("%s/%02x", programsFolder, first), programExt, func(name string) error {
			if d, ok := programDigest(name); ok {
				list = append(list, d)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Program reads one program. It returns an error that matches ErrDamaged for a file that
// no recorder wrote, and fs.ErrNotExist where there is none.
func (r *Recording) Program(d shader.Digest) (*Program, error) {
	data, err := r.programFile(d)
	var p *Program
	if err == nil {
		p, err = decodeProgram(data)
	}
	if err != nil {
		return nil, fmt.Errorf("recording: program %s: %w", d.Short(), err)
	}
	return p, nil
}

// programFile returns the content of a program's file, which has its digest.
func (r *Recording) programFile(d shader.Digest) ([]byte, error) {
	data, err := r.read(programName(d), maxFileBytes)
	if err == nil && sha256.Sum256(data) != d {
		err = damaged("its content does not have the digest that is its name")
	}
	return data, err
}

// Processes yields the processes in the order of their names, which begin with their
// times. For a log that cannot be read it yields an error and continues.
func (r *Recording) Processes() iter.Seq2[*Process, error] {
	return func(yield func(*Process, error) bool) {
		done := errors.New("done")
		err := r.each(processesFolder, processExt, func(name string) error {
			log, err := r.read(name, maxLogBytes)
			var p *Process
			if err == nil {
				p, err = decodeProcess(strings.TrimSuffix(path.Base(name), processExt), log)
			}
			if err != nil {
				err = fmt.Errorf("recording: %s: %w", path.Base(name), err)
			}
			if !yield(p, err) {
				return done
			}
			return nil
		})
		if err != nil && err != done {
			yield(nil, err)
		}
	}
}

// each calls visit with the files of an extension in a folder, in the order of their names.
// A folder that is missing has none; one that cannot be read is an error, as what is in it
// would be missing without a word.
func (r *Recording) each(folder, extension string, visit func(name string) error) error {
	files, err := r.list(folder)
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), extension) {
			continue
		}
		if err := visit(folder + "/" + file.Name()); err != nil {
			return err
		}
	}
	return nil
}

// list returns what is in a folder, sorted by name. It follows no link out of the recording.
func (r *Recording) list(folder string) ([]fs.DirEntry, error) {
	root, err := os.OpenRoot(r.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(folder, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would wait for its writer
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	files, err := f.ReadDir(-1)
	slices.SortFunc(files, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return files, err
}

// read returns the content of a regular file of at most limit bytes. It follows no link
// out of the recording.
func (r *Recording) read(name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(r.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, info, err := osfile.OpenRegular(name, root.Lstat, root.OpenFile)
	switch {
	case err != nil:
		return nil, err
	case f == nil:
		return nil, damaged("it is not a regular file")
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, damaged("it has %d bytes, and at most %d are possible", info.Size(), limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// programName returns the path of a program's file below the recording.
func programName(d shader.Digest) string {
	digits := d.String()
	return path.Join(programsFolder, digits[:2], digits+programExt)
}

// programDigest returns the digest of a program's file, and false for other files.
func programDigest(name string) (d shader.Digest, ok bool) {
	err := d.UnmarshalText([]byte(strings.TrimSuffix(path.Base(name), programExt)))
	return d, err == nil && programName(d) == name
}
