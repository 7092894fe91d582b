package pack

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/shadercache/shadercache/binary"
)

// adoptFolders moves those folders of the staging folder that the directory lacks, each
// with one rename. A directory that is new, as in a fresh container, gets all of its
// programs so. Files of other folders are moved by the steps that follow.
func (i *installer) adoptFolders(m *Manifest) error {
	i.adopted = map[string]bool{}
	tried := map[string]bool{}
	for _, f := range m.Files {
		for _, folder := range f.folders() {
			if !tried[folder] {
				tried[folder] = true
				if err := i.adopt(folder); err != nil {
					return err
				}
			}
			if i.adopted[folder] {
				break
			}
		}
		if i.isAdopted(f) {
			i.count(f, true)
		}
	}
	return nil
}

// folders returns the folders of a file that may be moved as a whole, the outer one first.
// NVIDIA's slots are numbered anew, and are not.
func (f File) folders() []string {
	if f.Kind == NVIDIA {
		return nil
	}
	inner := path.Dir(f.Path)
	if f.Kind == Tuning || f.Kind == Mesa && strings.Count(inner, "/") < 2 {
		return []string{inner}
	}
	return []string{path.Dir(inner), inner}
}

// isAdopted reports whether the file was moved with its folder.
func (i *installer) isAdopted(f File) bool {
	inner := path.Dir(f.Path)
	return i.adopted[inner] || i.adopted[path.Dir(inner)]
}

// adopt moves a folder, unless the directory has it. Where the move fails, its files are
// moved one by one, and have the error.
func (i *installer) adopt(folder string) error {
	if _, err := i.root.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := i.root.Lstat(path.Join(stagingReady, folder)); err != nil {
		return nil // a killed import moved it, and it was deleted since
	}
	if err := i.root.MkdirAll(path.Dir(folder), 0o700); err != nil {
		return err
	}
	if i.root.Rename(path.Join(stagingReady, folder), folder) == nil {
		i.adopted[folder] = true
	}
	return nil
}

// adoptedUses returns the programs of a directory that were moved with their folders, for
// the index.
func (i *installer) adoptedUses(m *Manifest, dir string) (uses []binary.Use) {
	for _, f := range m.Files {
		if f.Kind == Program && f.topFolder() == dir && i.isAdopted(f) {
			uses = append(uses, binary.Use{Key: f.key()})
		}
	}
	return uses
}
