// Package manifest finds the programs that a command line or a manifest names: kernel
// files, folders of them, and built-in programs.
//
// A manifest is a JSON file. Its files are relative to it; a program without a file is
// a built-in one. Version and prefix are put before the text of the file, as
// applications do that compose their sources: see shader.FileOptions.
//
//	{"programs": [
//	  {"name": "blur", "file": "blur.comp", "defines": {"TILE": "32"}},
//	  {"name": "relu", "file": "relu.glsl", "version": "310 es", "prefix": "precision highp float;"},
//	  {"name": "sum", "text": "#version 430\nlayout(local_size_x = 64) in; ..."},
//	  {"name": "scan", "text_file": "dumps/scan.glsl"},
//	  {"name": "sort", "key": "5e884898da28..."}]}
//
// A program with a key alone is one whose text is kept elsewhere: see Reader.Stored. Beside a
// file or a text the key has no meaning, so that the list of a report can be filled in.
//
// text is the final text, and text_file a file with it: the driver gets it byte for byte.
// So it is what another program gives to its driver, after that program's own
// preprocessing, and the driver finds the machine code when that program compiles it.
package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/internal/strict"
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
	// FileOptions are those of every file. Defines win over a manifest's.
	shader.FileOptions

	// Builtin returns a built-in program; BuiltinNames are the names that it takes.
	Builtin      func(name string) (*shader.Source, error)
	BuiltinNames []string

	// Stored returns the program with a key, of a place that keeps texts. Default: none.
	Stored func(key shader.Key) (*shader.Source, error)
}

// file is the content of a manifest.
type file struct {
	Programs []entry `json:"programs"`
}

type entry struct {
	Name    string         `json:"name"`
	Key     string         `json:"key,omitempty"` // of a stored program
	File    string         `json:"file"`
	Defines shader.Defines `json:"defines"`
	Version string         `json:"version"` // replaces the file's #version line: "310 es"
	Prefix  string         `json:"prefix"`  // text before that of the file

	Text     *string `json:"text,omitempty"`      // the final text
	TextFile string  `json:"text_file,omitempty"` // a file with the final text
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
	return []Program{readKernel("", argument, r.FileOptions)}
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
func readKernel(name, path string, o shader.FileOptions) Program {
	source, err := shader.ReadFile(path, o)
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
		all = append(all, readKernel("", path, r.FileOptions))
	}
	if err != nil {
		all = append(all, Program{Name: folder, Err: err})
	}
	return all
}

func (r Reader) readManifest(path string) []Program {
	var m file
	data, err := osfile.ReadRegular(path, maxManifest, os.Stat, os.OpenFile)
	if err == nil {
		m, err = decode(data)
	}
	if err != nil {
		return failed(path, fmt.Errorf("not a manifest: %w", err))
	}
	if len(m.Programs) == 0 {
		return failed(path, errors.New(`the manifest lists no programs: {"programs":[{"name","file","defines"}]}`))
	}
	all := make([]Program, 0, len(m.Programs))
	for _, e := range m.Programs {
		all = append(all, r.entry(path, e))
	}
	return all
}

// entry returns a program of the manifest at path.
func (r Reader) entry(path string, e entry) Program {
	if e.Text != nil || e.TextFile != "" {
		source, err := e.final(path)
		return Program{e.Name, source, err}
	}
	if e.File == "" && e.Version+e.Prefix != "" {
		return Program{Name: e.Name, Err: errors.New("a manifest's version and prefix need a file")}
	}
	if e.File == "" && e.Key != "" && !slices.Contains(r.BuiltinNames, e.Name) {
		source, err := r.stored(e)
		return Program{e.Name, source, err}
	}
	if e.File == "" {
		return r.builtin(e.Name)
	}
	o := r.FileOptions
	o.Version, o.Prefix, o.Defines = e.Version, e.Prefix, shader.Defines{}
	maps.Copy(o.Defines, e.Defines)
	maps.Copy(o.Defines, r.Defines)
	return readKernel(e.Name, resolve(path, e.File), o)
}

// stored returns the program of an entry with a key.
func (r Reader) stored(e entry) (*shader.Source, error) {
	key, err := shader.ParseKey(e.Key)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the key %q: %w", e.Key, err)
	case len(e.Defines) > 0:
		return nil, errors.New("a manifest's defines need a file")
	case r.Stored == nil:
		return nil, errors.New("a program with a key alone needs a place that keeps texts: name its file")
	}
	source, err := r.Stored(key)
	if err == nil && e.Name != "" {
		source = source.WithName(e.Name)
	}
	return source, err
}

// final returns the program of an entry with a final text.
func (e entry) final(manifest string) (*shader.Source, error) {
	switch {
	case e.Text != nil && e.TextFile != "":
		return nil, errors.New("a program has text or text_file, not both")
	case e.File+e.Version+e.Prefix != "" || len(e.Defines) > 0:
		return nil, errors.New("file, version, prefix and defines do not go with text and text_file: the text is final")
	case e.Name == "":
		return nil, errors.New("a program with text or text_file needs a name")
	}
	if e.Text != nil {
		if strings.ContainsRune(*e.Text, utf8.RuneError) {
			return nil, errors.New("the text has a character that JSON may have replaced, U+FFFD: use text_file")
		}
		return finalSource(e.Name, *e.Text, e.Name)
	}
	path := resolve(manifest, e.TextFile)
	data, err := osfile.ReadRegular(path, maxText, os.Stat, os.OpenFile)
	if err != nil {
		return nil, err
	}
	return finalSource(e.Name, string(data), path)
}

// maxText is the largest final text, in bytes: that of other sources.
const maxText = 16 << 20

// version matches the #version directive.
var version = regexp.MustCompile(`#[ \t]*version[ \t]`)

// finalSource returns the source with a text that is used unchanged.
func finalSource(name, text, file string) (*shader.Source, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errors.New("the text is empty")
	case len(text) > maxText:
		return nil, fmt.Errorf("the text is larger than %d bytes", maxText)
	case strings.IndexByte(text, 0) >= 0:
		return nil, errors.New("the text contains a NUL byte")
	case !version.MatchString(text):
		return nil, errors.New("the text has no #version line: OpenGL compiles it as GLSL 1.10, which has no compute shaders")
	}
	return shader.NewFinalSource(name, text, []string{file}), nil
}

// resolve returns the path of a file that a manifest names.
func resolve(manifest, named string) string {
	if filepath.IsAbs(named) {
		return named
	}
	return filepath.Join(filepath.Dir(manifest), filepath.FromSlash(named))
}

// maxManifest is the largest manifest, in bytes: some 100,000 programs.
const maxManifest = 64 << 20

// decode reads a manifest strictly: a misspelt field is an error and not a default, and
// so are bytes that JSON would replace in a text.
func decode(data []byte) (file, error) {
	var m file
	if !utf8.Valid(data) {
		return m, errors.New("it is not UTF-8: use text_file for a text with other bytes")
	}
	if err := strict.Unmarshal(data, &m); err != nil {
		return file{}, err
	}
	return m, nil
}
