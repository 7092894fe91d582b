package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/tune"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/internal/osfile"
)

// addToTable adds winners on a GPU, by its name, to a table of choices and replaces the file
// atomically. Without winners it checks, before a long search, that this is possible.
func addToTable(gpu, file string, winners []tune.Result) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(file))
	}
	if err != nil {
		return cli.Hint(fmt.Errorf("tune: --table: %w", err), "name a file in an existing folder")
	}
	if file == cli.Stdout {
		return errors.New("tune: --table reads and writes a file, and - is none")
	}
	if data, err = tune.AddToTable(data, glctx.Info{GPU: gpu}, winners...); err != nil {
		return err
	}
	if len(winners) == 0 {
		return nil
	}
	return osfile.WriteOutput(file, 0o644, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// checkTable checks, before a long search, that the winners of all groups of equal GPUs can be
// added to a table, which has one list a model: with two drivers of one model the winners of one
// would replace those of the other.
func checkTable(file string, models [][]cli.DeviceLine) error {
	seen := map[string]string{}
	for _, m := range models {
		first := m[0]
		if first.Err != nil {
			continue
		}
		if err := addToTable(first.Name, file, nil); err != nil {
			return err
		}
		name := conv2d.TableModel(glctx.Info{GPU: first.Name})
		if other, twice := seen[name]; twice {
			return cli.Hint(fmt.Errorf("tune: --table has one choice of a problem for %s, and GPUs %s and %s, which are tuned apart, are both of it", name, other, first.Option()),
				"give --device one of the two")
		}
		seen[name] = first.Option()
	}
	return nil
}
