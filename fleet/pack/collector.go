package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/shader"
)

// collector copies the files of a directory into a spool and records those that are
// left out.
type collector struct {
	spool    *spool
	dir      *binary.Dir
	options  ExportOptions
	root     *os.Root
	manifest Manifest
	leftOut  []LeftOut
	saves    time.Duration // see ExportReport
}

// collect returns the manifest of what is in the spool.
func (c *collector) collect() (m *Manifest, err error) {
	if c.root, err = os.OpenRoot(c.dir.Path()); err != nil {
		return nil, err
	}
	defer c.root.Close()
	c.manifest = Manifest{Schema: manifestSchema, Fingerprints: []Fingerprint{}}
	steps := []func() error{c.programs}
	if !c.options.NoDriverCache {
		steps = append(steps, c.nvidia, c.mesa)
	}
	if !c.options.NoSources {
		steps = append(steps, c.sources)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.manifest.Files = c.spool.files
	return &c.manifest, c.checkContent()
}

// checkContent returns an error that matches ErrEmpty for a bundle without files, and for
// one without programs where programs of the directory were left out.
func (c *collector) checkContent() error {
	var lost *LeftOut
	for i, left := range c.leftOut {
		if (File{Path: left.Path, Kind: Program}).validate() == nil || !strings.Contains(left.Path, "/") {
			lost = &c.leftOut[i]
			break
		}
	}
	programs := slices.ContainsFunc(c.manifest.Files, func(f File) bool { return f.Kind == Program })
	switch {
	case lost != nil && !programs && len(c.options.Without) == 0:
		return fmt.Errorf("%w: no program can be exported: %s: %s; see \"shadercache verify\"", ErrEmpty, lost.Path, lost.Reason)
	case len(c.manifest.Files) == 0:
		return fmt.Errorf("%w: %s has none of the selected files", ErrEmpty, c.dir.Path())
	}
	return nil
}

// programs adds the programs and tunings of the selected fingerprints.
func (c *collector) programs() error {
	infos, err := c.dir.Drivers()
	if err != nil {
		return err
	}
	missing := slices.Clone(c.options.Fingerprints)
	for _, info := range infos {
		missing = slices.DeleteFunc(missing, func(d shader.Digest) bool { return d == info.Digest })
		if !c.options.selects(info.Digest) {
			continue
		}
		if info.Fingerprint.Digest() != info.Digest {
			c.leaveOut(info.Dir, "its fingerprint.json is damaged or missing, and no other file names the driver; the next start with this driver writes it")
			continue
		}
		c.manifest.Fingerprints = append(c.manifest.Fingerprints, Fingerprint{info.Dir, info.Digest, info.Fingerprint})
		if err := c.walk(path.Join(info.Dir, "blobs"), func(name string) error { return c.program(info.Digest, name) }); err != nil {
			return err
		}
		if err := c.walk(path.Join(info.Dir, "tuning"), func(name string) error { return c.tuning(info.Digest, name) }); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("there are no programs of fingerprint %s in %s", missing[0].Short(), c.dir.Path())
	}
	return nil
}

// addIfValid adds a file with the given name and kind if verify accepts its content, and
// leaves it out otherwise. It skips names that Export does not write.
func (c *collector) addIfValid(name string, kind Kind, verify func(f File, data []byte) error) error {
	f := File{Path: name, Kind: kind}
	if f.validate() != nil {
		return nil // a temporary file, or an unknown one
	}
	if c.options.leavesOut(ItemOf(name)) {
		return nil
	}
	data, err := c.read(f)
	if data == nil || err != nil {
		return err
	}
	if err := verify(f, data); err != nil {
		c.leaveOut(name, err.Error())
		return nil
	}
	return c.spool.addFile(name, kind, bytes.NewReader(data))
}

// program adds a blob of a fingerprint.
func (c *collector) program(of shader.Digest, name string) error {
	return c.addIfValid(name, Program, func(f File, data []byte) error {
		var b binary.Blob
		if err := b.Decode(data); err != nil {
			return err
		}
		if b.Key != f.key() || b.Fingerprint != of {
			return errors.New("its content is another program than its name")
		}
		c.saves += min(time.Duration(b.CompileNanos), time.Hour) // as often as there are files, it is no overflow
		if b.Created.After(c.manifest.Created) {
			c.manifest.Created = b.Created
		}
		return nil
	})
}

// tuning adds the tuning of one problem.
func (c *collector) tuning(of shader.Digest, name string) error {
	return c.addIfValid(name, Tuning, func(_ File, data []byte) error {
		return binary.CheckFile(of, name, data)
	})
}

// sources adds the sources.
func (c *collector) sources() error {
	return c.walk("sources", func(name string) error {
		return c.addIfValid(name, Source, func(f File, _ []byte) error {
			_, err := c.dir.Source(f.key())
			return err
		})
	})
}

// selectsDriver reports whether driver files of a kind are selected: with all
// fingerprints, or with one of that kind of driver.
func (c *collector) selectsDriver(k Kind) bool {
	return c.options.Fingerprints == nil || slices.ContainsFunc(c.manifest.Fingerprints, func(f Fingerprint) bool {
		return driverKind(f.Fingerprint) == k
	})
}

// nvidia adds the slots of NVIDIA's driver.
func (c *collector) nvidia() error {
	if !c.selectsDriver(NVIDIA) {
		return nil
	}
	skipped, err := nvidia.Snapshots(c.dir.DriverDir(), c.slot)
	for _, slot := range skipped {
		c.leaveOut(path.Join("driver", slot.Slot), slot.Reason)
	}
	return err
}

// mesa adds the files of Mesa's cache, except databases.
func (c *collector) mesa() error {
	if !c.selectsDriver(Mesa) {
		return nil
	}
	databases := map[string]bool{}
	return c.walk(mesaFolder, func(name string) error {
		if folder := (File{Path: name}).mesaDatabase(); folder != "" {
			if !databases[folder] {
				c.leaveOut(folder, "this database of Mesa was written without shadercache's settings, and cannot be added to others")
			}
			databases[folder] = true
			return nil
		}
		return c.addIfValid(name, Mesa, func(_ File, data []byte) error {
			if isCutEntry(name, data, nil) {
				return errors.New("it has none of its bytes")
			}
			return nil
		})
	})
}

// walk visits the regular files below a folder, in the order of their paths. It does not
// follow links, and skips files that are deleted meanwhile.
func (c *collector) walk(folder string, visit func(name string) error) error {
	return fs.WalkDir(c.root.FS(), folder, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if err := c.options.ended(); err != nil {
			return err
		}
		return visit(name)
	})
}

// read returns the content of a file, or nil if it was deleted or is too large.
func (c *collector) read(f File) ([]byte, error) {
	file, err := c.root.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	limit := kindLimits[f.Kind]
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		c.leaveOut(f.Path, fmt.Sprintf("it has more than %d bytes", limit))
		return nil, nil
	}
	return data, err
}

func (c *collector) leaveOut(name, reason string) {
	c.leftOut = append(c.leftOut, LeftOut{name, reason})
}
