// Package corpus generates directories of compute shaders as real projects have them, for
// trials of the whole command: image filters, reductions, sorts, matrix products, hashes,
// noise, particles, Fourier steps and prefix sums, in desktop and ES versions, with nested
// includes, folders for -I, defines, duplicates, sources that are composed from parts, and
// errors. Equal options give equal files.
package corpus

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed templates
var templates embed.FS

// Options say what to generate.
type Options struct {
	Programs int    // that compile, with different texts
	Seed     uint64 // of the choice and order of programs

	// Faults adds programs with the texts CrashMarker, HangMarker and MemoryMarker, which
	// compile, unless faults make a driver fail on them: see internal/faultgl.
	Faults bool

	// Heavy adds programs of nested macros that need minutes, or gigabytes, to compile.
	Heavy bool
}

// Texts in the programs that faults are for.
const (
	CrashMarker  = "CORPUS_CRASH"
	HangMarker   = "CORPUS_HANG"
	MemoryMarker = "CORPUS_MEMORY"
)

// Contents counts what a corpus has, by files of the same fate.
type Contents struct {
	Healthy    int `json:"healthy"`    // compile, with different texts, those of GLSL 4.60 included
	Newer      int `json:"newer"`      // of these, that need GLSL 4.60
	Duplicates int `json:"duplicates"` // have the text of a healthy one
	Composed   int `json:"composed"`   // of a manifest, with a version and a prefix; they compile
	Errors     int `json:"errors"`     // do not compile or link, or include a missing file
	Faults     int `json:"faults"`
	Heavy      int `json:"heavy"`
}

// Files of a corpus, below its directory. Sources need -I of IncludeDir.
const (
	SourceDir    = "src"     // one folder a family
	IncludeDir   = "include" // for -I
	ErrorDir     = "errors"
	FaultDir     = "faults"
	HeavyDir     = "heavy"
	Manifest     = "programs.json"
	ContentsFile = "corpus.json"
)

// Generate writes a corpus into a directory, which is made where it is missing.
func Generate(dir string, o Options) (Contents, error) {
	w := &writer{dir: dir}
	w.copyTree()
	g := newGenerator(o, w)
	g.healthy()
	g.duplicates()
	g.composed()
	g.errors()
	if o.Faults {
		g.faults()
	}
	if o.Heavy {
		g.heavy()
	}
	text, err := json.MarshalIndent(g.contents, "", "  ")
	if err != nil {
		return Contents{}, err
	}
	w.file(ContentsFile, string(text)+"\n")
	if w.err != nil {
		return Contents{}, fmt.Errorf("corpus: %w", w.err)
	}
	return g.contents, nil
}

// Read returns the contents of a corpus that Generate wrote.
func Read(dir string) (c Contents, err error) {
	data, err := os.ReadFile(filepath.Join(dir, ContentsFile))
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	return c, err
}

// writer writes files and keeps the first error.
type writer struct {
	dir string
	err error
}

func (w *writer) file(name, text string) {
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	if w.err == nil {
		w.err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if w.err == nil {
		w.err = os.WriteFile(path, []byte(text), 0o644)
	}
}

// copyTree copies the files that sources include.
func (w *writer) copyTree() {
	const root = "templates/tree"
	err := fs.WalkDir(templates, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := templates.ReadFile(name)
		w.file(name[len(root)+1:], string(data))
		return err
	})
	if w.err == nil {
		w.err = err
	}
}
