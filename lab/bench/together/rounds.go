package together

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/cmd/startup"
)

// failingShare is the share of the sources of Failures that do not compile: one of 25.
const failingShare = 25

// fill makes the manifests and a warm directory. Its process is also the one that finds the
// driver's libraries on disk.
func (r *run) fill(ctx context.Context) error {
	if err := r.writeManifests(); err != nil {
		return err
	}
	r.filled = filepath.Join(r.work, "filled")
	if _, _, err := r.starts(ctx, []string{r.filled}); err != nil {
		return err
	}
	_, err := r.preloads(ctx, []string{r.filled}, r.failures) // the failures are recorded
	_ = r.bar.Add(1)
	return err
}

func (r *run) writeManifests() error {
	type entry struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	programs, err := startup.Programs(r.Programs, startup.SharedBytes)
	if err != nil {
		return err
	}
	var entries []entry
	for _, p := range programs {
		entries = append(entries, entry{p.Source.Name(), p.Source.Text()})
	}
	write := func(name string) (path string, err error) {
		path = filepath.Join(r.work, name+".json")
		data, err := json.Marshal(map[string]any{"programs": entries})
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		return path, err
	}
	if r.manifest, err = write("programs"); err != nil {
		return err
	}
	for i := range 1 + r.Programs/failingShare {
		entries = append(entries, entry{fmt.Sprintf("failing_%d", i), fmt.Sprintf("#version 450\nvoid main() { missing%d(); }\n", i)})
	}
	r.failures, err = write("failures")
	return err
}

// folders returns the paths of n directories of a round, which is removed by the returned
// function; copied from the warm one, or not there.
func (r *run) folders(n int, copied bool) (dirs []string, remove func(), err error) {
	round, err := os.MkdirTemp(r.work, "round-")
	if err != nil {
		return nil, nil, err
	}
	for i := range n {
		dir := filepath.Join(round, fmt.Sprint(i))
		if copied {
			err = startup.CopyPrivately(r.filled, dir)
		}
		if err != nil {
			return nil, nil, err
		}
		dirs = append(dirs, dir)
	}
	return dirs, func() { _ = os.RemoveAll(round) }, nil
}

// warm is a round of Warm.
func (r *run) warm(ctx context.Context, row *Row) error {
	own, remove, err := r.folders(row.Processes, true)
	if err != nil {
		return err
	}
	defer remove()
	beside, ownCompiled, err := r.starts(ctx, own)
	if err != nil {
		return err
	}
	all, compiled, err := r.starts(ctx, same(own[0], row.Processes))
	row.add(millisOf(all), last(millisOf(beside)), append(compiled, ownCompiled...))
	return err
}

// cold is a round of Cold. A start afterwards finds and verifies all programs.
func (r *run) cold(ctx context.Context, row *Row) error {
	dirs, remove, err := r.folders(2, false)
	if err != nil {
		return err
	}
	defer remove()
	alone, err := r.preloads(ctx, dirs[:1], r.manifest)
	if err != nil {
		return err
	}
	all, err := r.preloads(ctx, same(dirs[1], row.Processes), r.manifest)
	if err != nil {
		return err
	}
	_, compiled, err := r.starts(ctx, dirs[1:])
	row.add(millisOf(all), alone[0].millis, compiled)
	return err
}

// failing is a round of Failures.
func (r *run) failing(ctx context.Context, row *Row) error {
	beside, err := r.preloads(ctx, []string{r.filled}, r.failures, "--no-isolate")
	if err != nil {
		return err
	}
	all, err := r.preloads(ctx, []string{r.filled}, r.failures)
	row.add(millisOf(all), beside[0].millis, nil)
	return err
}

// fleet is a round of Machines: a remote with the packs of the warm directory.
func (r *run) fleet(ctx context.Context, row *Row) (err error) {
	dirs, remove, err := r.folders(row.Processes+1, false)
	if err != nil {
		return err
	}
	defer remove()
	o := startup.FleetOptions{Remote: row.Remote, Latency: row.latency}
	store, dirs := dirs[0], dirs[1:]
	if err := os.Mkdir(store, 0o700); err != nil {
		return err
	}
	if row.Remote == File {
		o.Remote = "file://" + store
	}
	remote, err := startup.OpenFleet(o, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remote.Close()) }()
	r.pushes++ // each has a place of its own in the remote
	round := r.pushes
	if err := remote.Push(ctx, r.cli, round, r.filled); err != nil {
		return err
	}
	all, compiled, err := r.starts(ctx, dirs, remote.Environment(round)...)
	if err == nil {
		row.add(millisOf(all), stats.Median(millisOf(all)), compiled)
	}
	return err
}
