package index

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
	bolt "go.etcd.io/bbolt"
)

// Changes are the changes of one Save.
type Changes struct {
	Lifetime []byte       // the lifetime counters
	Merged   []byte       // names of the records that this adds
	Changed  []shader.Key // programs that are new or have changed, sorted
	Value    func(key shader.Key) ([]byte, error)
	Gone     []shader.Key // programs to delete
}

// Save makes the changes in a copy of the file and replaces the file by it. Processes
// that open the index meanwhile wait for Close, and then find the new file. The changes
// are on the disk when Save returns. The open file is the one before the change.
func (x *File) Save(c Changes) error {
	if err := x.guard(func() error { return x.replace(c) }); err != nil {
		return x.abandon(err)
	}
	return nil
}

func (x *File) replace(c Changes) (err error) {
	f, err := os.CreateTemp(filepath.Dir(x.path), "."+Name)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if info, err := x.file.Stat(); err != nil {
		return err
	} else if _, err := io.Copy(f, io.NewSectionReader(x.file, 0, info.Size())); err != nil {
		return err
	}
	free, err := c.applyTo(f.Name())
	if err == nil && free {
		err = compact(f)
	}
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	sum, err := sumOf(f)
	if err != nil {
		return err
	}
	if err := osfile.WriteFile(x.sumPath, []byte(strings.TrimSpace(x.current+"\n"+sum)+"\n")); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), x.path); err != nil {
		return err
	}
	return osfile.SyncDir(filepath.Dir(x.path))
}

// applyTo makes the changes in the bbolt file at path, in one transaction, and reports
// whether most of the file is free after them.
func (c Changes) applyTo(path string) (free bool, err error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, NoGrowSync: true})
	if err != nil {
		return false, err
	}
	err = db.Update(c.apply)
	stats, info := db.Stats(), db.Info()
	pages := int64(stats.FreePageN + stats.PendingPageN)
	size, err1 := os.Stat(path)
	if err = errors.Join(err, err1, db.Close()); err != nil {
		return false, err
	}
	return size.Size() >= compactBytes && 2*pages*int64(info.PageSize) > size.Size(), nil
}

// compactBytes is the size from which a file is worth to be compacted.
const compactBytes = 64 << 10

// compact replaces the content of a bbolt file, which bbolt never makes smaller, by what of
// it is in use.
func compact(f *os.File) error {
	small, err := os.CreateTemp(filepath.Dir(f.Name()), "."+Name)
	if err != nil {
		return err
	}
	defer os.Remove(small.Name())
	defer small.Close()
	if err := copyUsed(small.Name(), f.Name()); err != nil {
		return err
	}
	_, err1 := f.Seek(0, io.SeekStart)
	if err := errors.Join(f.Truncate(0), err1); err != nil {
		return err
	}
	_, err = io.Copy(f, small)
	return err
}

// copyUsed copies what is in use of a bbolt file into an empty one.
func copyUsed(to, from string) error {
	src, err := bolt.Open(from, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := bolt.Open(to, 0o600, &bolt.Options{NoSync: true, NoGrowSync: true})
	if err != nil {
		return err
	}
	return errors.Join(bolt.Compact(dst, src, 0), dst.Close())
}

func (c Changes) apply(tx *bolt.Tx) error {
	about, err1 := tx.CreateBucketIfNotExists(aboutBucket)
	programs, err2 := tx.CreateBucketIfNotExists(programsBucket)
	totals, err3 := tx.CreateBucketIfNotExists(lifetimeBucket)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if err := about.Put(schemaKey, []byte(Schema)); err != nil {
		return err
	}
	for _, key := range c.Gone {
		if err := programs.Delete(key[:]); err != nil {
			return err
		}
	}
	programs.FillPercent = 0.9 // with sorted keys pages are filled once and not split
	for _, key := range c.Changed {
		value, err := c.Value(key)
		if err != nil {
			return err
		}
		if err := programs.Put(key[:], value); err != nil {
			return err
		}
	}
	if err := totals.Put(mergedKey, c.Merged); err != nil {
		return err
	}
	return totals.Put(countersKey, c.Lifetime)
}
