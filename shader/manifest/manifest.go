// Package manifest finds the programs that a command line or a manifest names: kernel
// files, folders of them, and built-in programs.
//
// A manifest is a JSON file. Its files are relative to it; a program without a file is
// a built-in one.
//
//	{"programs": [{"name": "blur", "file": "blur.comp", "defines": {"TILE": "32"}}]}
package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// KernelExt is the extension of kernel files.
const KernelExt = ".comp"

// Program is one program, or the reason why it cannot be tried.
type Program struct {
	Name   string
	Source *shader.Source // nil where Err is set
	Err    error
}

// Reader reads programs. The zero value knows no built-in programs.
type Reader struct {
	// Defines are set in every file. They win over a manifest's.
	Defines shader.Defines

	// Builtin returns a built-in program; BuiltinNames are the names that it takes.
	Builtin      func(name string) (*shader.Source, error)
	BuiltinNames []string
}

// file is the content of a manifest.
type file struct {
	Programs []entry `json:"programs"`
}

type entry struct {
	Name    string         `json:"name"`
	File    string         `json:"file"`
	Defines shader.Defines `json:"defines"`
}

// ReadAll returns the programs of all arguments, see Read.
func (r Reader) ReadAll(arguments []string) []Program {
	var all []Program
	for _, argument := range arguments {
		all = append(all, r.Read(argument)...)
	}
	return all
}

// Read returns the programs that an argument names, at least one. What cannot be read
// is a program with an error.
//
//	conv2d_3x3      a built-in program, unless there is a file of that name
//	blur.comp       a GLSL compute file
//	kernels/        every .comp file below a folder
//	programs.json   a manifest
func (r Reader) Read(argument string) []Program {
	info, err := os.Stat(argument)
	switch {
	case err != nil && slices.Contains(r.BuiltinNames, argument):
		return []Program{r.builtin(argument)}
	case errors.Is(err, fs.ErrNotExist):
		return failed(argument, fmt.Errorf("there is no such file, folder or built-in program (%s)", strings.Join(r.BuiltinNames, ", ")))
	case err != nil:
		return failed(argument, err)
	case info.IsDir():
		return r.readFolder(argument)
	case filepath.Ext(argument) == ".json":
		return r.readManifest(argument)
	}
	return []Program{readKernel("", argument, r.Defines)}
}

func failed(name string, err error) []Program { return []Program{{Name: name, Err: err}} }

func (r Reader) builtin(name string) Program {
	if r.Builtin == nil {
		return Program{Name: name, Err: fmt.Errorf("manifest: there is no built-in program %q", name)}
	}
	source, err := r.Builtin(name)
	return Program{name, source, err}
}

// readKernel reads one file; "" as name is the file's.
func readKernel(name, path string, defines shader.Defines) Program {
	source, _, err := ReadFile(path, defines)
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(path), KernelExt)
	}
	if err == nil {
		source = source.WithName(name)
	}
	return Program{name, source, err}
}

func (r Reader) readFolder(folder string) []Program {
	paths, err := Files(folder, KernelExt)
	var all []Program
	for _, path := range paths {
		all = append(all, readKernel("", path, r.Defines))
	}
	if err != nil {
		all = append(all, Program{Name: folder, Err: err})
	}
	return all
}

func (r Reader) readManifest(path string) []Program {
	var m file
	if err := decodeFile(path, &m); err != nil {
		return failed(path, fmt.Errorf("not a manifest: %w", err))
	}
	if len(m.Programs) == 0 {
		return failed(path, errors.New(`the manifest lists no programs: {"programs":[{"name","file","defines"}]}`))
	}
	all := make([]Program, 0, len(m.Programs))
	for _, e := range m.Programs {
		if e.File == "" {
			all = append(all, r.builtin(e.Name))
			continue
		}
		defines := shader.Defines{}
		maps.Copy(defines, e.Defines)
		maps.Copy(defines, r.Defines)
		all = append(all, readKernel(e.Name, resolve(path, e.File), defines))
	}
	return all
}

// resolve returns the path of a file that a manifest names.
func resolve(manifest, named string) string {
	if filepath.IsAbs(named) {
		return named
	}
	return filepath.Join(filepath.Dir(manifest), filepath.FromSlash(named))
}

// decodeFile reads a JSON file strictly: a misspelt field is an error and not a
// default.
func decodeFile(path string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	return d.Decode(v)
}
