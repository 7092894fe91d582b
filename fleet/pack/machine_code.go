package pack

import (
	"bytes"
	"path"
	"strings"

	"github.com/shadercache/shadercache/drivercache/mesa"
)

// emptyBytes is more than the headers of a file of a driver's cache without entries.
const emptyBytes = 64

// isMachineCode reports whether a file holds machine code, and not only the order of a
// driver's cache.
func (f File) isMachineCode() bool {
	switch f.Kind {
	case NVIDIA:
		return strings.HasSuffix(f.Path, ".bin") && f.Size > emptyBytes
	case Mesa:
		return !mesa.InUse(path.Base(f.Path)) && !strings.HasSuffix(f.Path, ".idx") && f.Size > emptyBytes
	}
	return false
}

// isCutEntry reports whether a file of Mesa's cache is an entry of which a power cut left the beginning, or
// nothing: Mesa compiles at each start then, and never writes over the file.
func isCutEntry(name string, data, whole []byte) bool {
	return mesa.Entry(strings.TrimPrefix(name, "driver/")) != "" && bytes.HasPrefix(whole, bytes.TrimRight(data, "\x00"))
}

// withoutMachineCode returns the directories of the fingerprints that have programs
// while the manifest has no machine code of their driver: each of these programs
// compiles at its first dispatch.
func (m *Manifest) withoutMachineCode() (dirs []string) {
	programs, code := map[string]bool{}, map[Kind]bool{}
	for _, f := range m.Files {
		if f.Kind == Program {
			programs[f.topFolder()] = true
		}
		if f.isMachineCode() {
			code[f.Kind] = true
		}
	}
	for _, f := range m.Fingerprints {
		if programs[f.Dir] && !code[driverKind(f.Fingerprint)] {
			dirs = append(dirs, f.Dir)
		}
	}
	return dirs
}
