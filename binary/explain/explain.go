// Package explain compares a program of a store with what is like it: other drivers that have
// it, and programs of its name with another text. It says why a request hits or misses.
package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// maxSimilar bounds Program.Similar.
const maxSimilar = 10

// Program is why a request for a program hits or misses, and what is like the program.
type Program struct {
	binary.Explanation
	Others  []OtherDriver `json:"others"`  // other drivers that have the program
	Similar []Similar     `json:"similar"` // this driver's programs of the same name; at most 10
}

// OtherDriver is another driver that has a blob of the program.
type OtherDriver struct {
	Dir   string      `json:"dir"`
	Diffs []FieldDiff `json:"diffs"` // from this driver's fingerprint; empty where the other is lost
}

// Similar is a program with the same name and another text.
type Similar struct {
	Key  shader.Key       `json:"key"`
	Diff *shader.LineDiff `json:"diff,omitempty"` // nil where one of the sources is not stored
}

// Explainer explains programs of one store, for one goroutine at a time. It reads the names
// of all programs once, and each stored source that it compares with once. It does not see
// later changes of them.
type Explainer struct {
	store   *binary.Store
	dirs    []*binary.Dir           // that of the store, and the one behind it
	named   map[string][]shader.Key // programs by name, those here before those upstream; nil = not read
	others  []driverFolder
	sources map[shader.Key]*shader.Source
}

// driverFolder is the part of another driver in a directory.
type driverFolder struct {
	binary.FingerprintInfo
	path string
}

// New returns an Explainer of a store. dirs are its directory and those upstream of it, of
// which New reads the drivers.
func New(store *binary.Store, dirs []*binary.Dir) (*Explainer, error) {
	x := &Explainer{store: store, dirs: dirs, sources: map[shader.Key]*shader.Source{}}
	for _, dir := range dirs {
		infos, err := dir.Drivers()
		if err != nil {
			return nil, err
		}
		for _, info := range infos {
			x.others = append(x.others, driverFolder{info, filepath.Join(dir.Path(), info.Dir)})
		}
	}
	return x, nil
}

// Explain explains a program. src is its source; nil = the stored one, if any.
func (x *Explainer) Explain(key shader.Key, src *shader.Source) Program {
	if src == nil {
		src = x.source(key)
	}
	e := Program{Explanation: x.store.Explain(key)}
	if src != nil {
		e.Name = src.Name()
	}
	e.Others, e.Similar = x.otherDrivers(key), x.similar(key, e.Name, src)
	return e
}

// source returns a stored source, nil where there is none or it cannot be read.
func (x *Explainer) source(key shader.Key) *shader.Source {
	src, read := x.sources[key]
	if !read {
		src, _ = x.store.Source(key)
		x.sources[key] = src
	}
	return src
}

// otherDrivers lists the other drivers that have a program, here or upstream.
func (x *Explainer) otherDrivers(key shader.Key) []OtherDriver {
	list, seen := []OtherDriver{}, map[string]bool{x.store.Fingerprint().DirName(): true}
	digits := key.String()
	for _, other := range x.others {
		_, err := os.Lstat(filepath.Join(other.path, "blobs", digits[:2], digits+".bin"))
		if err != nil || seen[other.Dir] {
			continue
		}
		seen[other.Dir] = true
		found := OtherDriver{Dir: other.Dir, Diffs: []FieldDiff{}}
		if other.Fingerprint.DirName() == other.Dir {
			found.Diffs = diffDrivers(x.store.Fingerprint(), other.Fingerprint)
		}
		list = append(list, found)
	}
	return list
}

// similar lists other programs of a name, those here before those upstream.
func (x *Explainer) similar(key shader.Key, name string, src *shader.Source) []Similar {
	list, seen := []Similar{}, map[shader.Key]bool{key: true}
	if name == "" {
		return list
	}
	x.readNames()
	for _, other := range x.named[name] {
		if seen[other] {
			continue
		}
		seen[other] = true
		found := Similar{Key: other}
		if theirs := x.source(other); theirs != nil && src != nil {
			found.Diff = src.Diff(theirs)
		}
		if list = append(list, found); len(list) == maxSimilar {
			break
		}
	}
	return list
}

// readNames reads the names of all programs of the driver, once. A directory that cannot be
// used counts as empty.
func (x *Explainer) readNames() {
	if x.named != nil {
		return
	}
	x.named = map[string][]shader.Key{}
	for _, dir := range x.dirs {
		store, err := dir.Store(x.store.Fingerprint())
		if err != nil {
			continue
		}
		for e, err := range store.All() {
			if err == nil {
				x.named[e.Name] = append(x.named[e.Name], e.Key)
			}
		}
		_ = store.Close()
	}
}

// FieldDiff is one field in which two fingerprints differ.
type FieldDiff struct {
	Field  string `json:"field"` // as in fingerprint.json
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
}

// diffDrivers lists the fields in which other differs from f, and none where both have the
// same digest.
func diffDrivers(f, other binary.Fingerprint) []FieldDiff {
	var list []FieldDiff
	ours, theirs := reflect.ValueOf(f), reflect.ValueOf(other)
	for i := range ours.NumField() {
		name, _, _ := strings.Cut(ours.Type().Field(i).Tag.Get("json"), ",")
		if a, b := show(ours.Field(i).Interface()), show(theirs.Field(i).Interface()); a != b {
			list = append(list, FieldDiff{name, a, b})
		}
	}
	return list
}

// show returns a field of a fingerprint as text: masks and formats are hexadecimal.
func show(field any) string {
	switch field.(type) {
	case uint32, []uint32:
		return fmt.Sprintf("%#x", field)
	}
	return fmt.Sprint(field)
}
