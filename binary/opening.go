package binary

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/binary/internal/crashlog"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// openingName is the directory with a mark for each process that makes a GL context, in
// which drivers crash too. Which driver that will be is not known yet.
const openingName = "opening"

var errKeep = errors.New("it stays")

// MarkOpening marks that the process makes a GL context, until end is called. After a
// success that also forgets the processes that ended earlier. Like Store.Mark it never
// fails.
func (d *Dir) MarkOpening() (end func(success bool)) {
	log := &crashlog.Log{Dir: filepath.Join(d.path, openingName), Prepare: d.prepareOpening}
	log.Mark(crashlog.Mark{Action: crashlog.Open}, "")
	return func(success bool) {
		log.Close()
		if success {
			_ = d.eachOpening(func() error { return nil })
		}
	}
}

func (d *Dir) prepareOpening(dir string) error {
	if d.readOnly {
		return ErrReadOnly
	}
	if osfile.IsLink(dir) {
		return unsafeDir(dir, "is a symbolic link", removeLinkHint)
	}
	return os.MkdirAll(dir, 0o700)
}

// DeathsWhileOpening returns how many processes ended while they made a GL context, since
// the last one that succeeded.
func (d *Dir) DeathsWhileOpening() (deaths int) {
	_ = d.eachOpening(func() error {
		deaths++
		return errKeep
	})
	return deaths
}

// eachOpening calls handle for each process that ended while it made a context, and
// forgets it when handle returns nil.
func (d *Dir) eachOpening(handle func() error) error {
	return crashlog.Recover(filepath.Join(d.path, openingName), d.now(), func(left crashlog.Remains) error {
		if _, open := left.Marks[crashlog.Mark{Action: crashlog.Open, Key: shader.Key{}}]; !open {
			return nil
		}
		return handle()
	})
}
