package pack

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/shader"
)

// Kind is the kind of a file of a bundle. It determines the form of its path.
type Kind string

// The kinds of file in a bundle.
const (
	Program Kind = "program" // <fingerprint>/blobs/5e/<key>.bin
	Source  Kind = "source"  // sources/5e/<key>.glsl.zst
	Tuning  Kind = "tuning"  // <fingerprint>/tuning/<digest of the problem>.json
	NVIDIA  Kind = "nvidia"  // driver/nvidia/GLCache/<32 hex>/<16 hex>/shadercache<n>.toc and .bin
	Mesa    Kind = "mesa"    // driver/mesa/<folders>/<file>, no database
)

// counter returns that of the counters of a report in which files of a kind count.
func (k Kind) counter(programs, sources, tunings, driverFiles *int) *int {
	switch k {
	case Program:
		return programs
	case Source:
		return sources
	case Tuning:
		return tunings
	}
	return driverFiles
}

const (
	mesaFolder   = "driver/mesa"
	nvidiaFolder = "driver/" + nvidia.Folder
)

// maxMesaPath is the limit of a ustar header. Paths of the other kinds are shorter.
const maxMesaPath = 100

// kindLimits are the limits of the size of one file, in bytes.
var kindLimits = map[Kind]int64{
	Program: binary.MaxPayloadBytes + 4096, // with the envelope
	Source:  16 << 20,
	Tuning:  16 << 10,
	NVIDIA:  4 << 30, // offsets have 32 bits
	Mesa:    1 << 30, // the size that drivercache sets
}

// maxTocBytes is what package nvidia reads of a slot's table of contents: no directory could take a larger one.
const maxTocBytes = 24 << 20

// kindPaths are the forms of the paths. Names consist of letters, digits and ". _ -" and
// do not start with a dot: no "..", no hidden file, no separator of any system. They are
// compiled at their first use, since that takes 0.5 ms.
var kindPaths = sync.OnceValue(func() map[Kind]*regexp.Regexp {
	return map[Kind]*regexp.Regexp{
		Program: regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9._-]{0,47}-[0-9a-f]{8})/blobs/([0-9a-f]{2})/([0-9a-f]{64})\.bin$`),
		Source:  regexp.MustCompile(`^(sources)/([0-9a-f]{2})/([0-9a-f]{64})\.glsl\.zst$`),
		Tuning:  regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9._-]{0,47}-[0-9a-f]{8})/tuning/([0-9a-f]{64})\.json$`),
		NVIDIA:  regexp.MustCompile(`^driver/` + nvidia.Folder + `/GLCache/[0-9a-f]{32}/[0-9a-f]{16}/` + nvidia.App + `(0|[1-9][0-9]{0,3})\.(toc|bin)$`),
		Mesa:    regexp.MustCompile(`^driver/mesa(/[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}){1,4}$`),
	}
})

// validate checks the file's path and size against its kind.
func (f File) validate() error {
	form, known := kindPaths()[f.Kind]
	if !known {
		return refused(f.Path, "there is no kind %q", f.Kind)
	}
	parts := form.FindStringSubmatch(f.Path)
	keyed := f.Kind == Program || f.Kind == Source
	if parts == nil || keyed && !strings.HasPrefix(parts[3], parts[2]) {
		return refused(f.Path, "a %s file cannot be there", f.Kind)
	}
	if f.Kind == Mesa && len(f.Path) > maxMesaPath {
		return refused(f.Path, "its path is longer than %d bytes", maxMesaPath)
	}
	if f.mesaDatabase() != "" {
		return refused(f.Path, "databases of Mesa cannot be added to others")
	}
	limit := kindLimits[f.Kind]
	if f.Kind == NVIDIA && strings.HasSuffix(f.Path, ".toc") {
		limit = maxTocBytes
	}
	if f.Size < 0 || f.Size > limit {
		return refused(f.Path, "it has %d bytes, and a %s file has at most %d", f.Size, f.Kind, limit)
	}
	return nil
}

// key returns the key in the path of a validated Program or Source.
func (f File) key() shader.Key {
	digits, _, _ := strings.Cut(path.Base(f.Path), ".")
	key, err := shader.ParseKey(digits)
	if err != nil {
		panic("bundle: key of a path that was not checked: " + f.Path)
	}
	return key
}

// mesaDatabase returns the folder of the database that the file is a part of, or "".
// Mesa writes databases where MESA_DISK_CACHE_MULTI_FILE is not set, from version 23 on,
// and reads only one, which grows at its end: two cannot be merged by copying.
func (f File) mesaDatabase() string {
	below, isMesa := strings.CutPrefix(f.Path, mesaFolder+"/")
	folder, _, _ := strings.Cut(below, "/")
	if isMesa && strings.HasPrefix(folder, "mesa_shader_cache_") {
		return path.Join(mesaFolder, folder)
	}
	return ""
}

// ofDriver reports whether the file lies in the directory of a fingerprint.
func (f File) ofDriver() bool { return f.Kind == Program || f.Kind == Tuning }

// topFolder returns the first part of the path, which is the directory of the
// fingerprint of a Program or Tuning.
func (f File) topFolder() string {
	dir, _, _ := strings.Cut(f.Path, "/")
	return dir
}

// driverKind returns the kind of the driver files of a fingerprint.
func driverKind(f binary.Fingerprint) Kind {
	if strings.HasPrefix(f.Vendor, "NVIDIA") {
		return NVIDIA
	}
	return Mesa
}
