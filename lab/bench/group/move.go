package group

import (
	"bytes"
	"slices"
	"time"

	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/resident"
)

// moves saves sessions on the first device, continues them there and on the second, and
// compares all bits.
func (r *run) moves() error {
	for _, w := range []struct {
		name   string
		kernel resident.Kernel
	}{
		{"integers", resident.Neighbours{Groups: 64, Local: 64}.Kernel()},
		{"floats", resident.Persistence{Groups: 64, Local: 64, FMAs: 16}.Kernel()},
	} {
		row, err := r.move(w.name, w.kernel)
		if err != nil {
			return err
		}
		r.result.Moves = append(r.result.Moves, row)
		r.result.Verified = r.result.Verified && row.Verified
	}
	return nil
}

// moveSteps is the number of steps before the checkpoint, and after it.
const moveSteps = 100

// move moves one session: the checkpoint goes through its file format.
func (r *run) move(name string, k resident.Kernel) (row MoveRow, err error) {
	row = MoveRow{Workload: name, Steps: moveSteps}
	from, err := r.session(0, k, resident.Redispatch)
	if err != nil {
		return row, err
	}
	defer from.Close()
	to, err := r.session(1%r.group.Len(), k, resident.Redispatch)
	if err != nil {
		return row, err
	}
	defer to.Close()
	if _, err := from.Run(r.ctx, moveSteps); err != nil {
		return row, err
	}
	var file bytes.Buffer
	began := time.Now()
	saved, err := from.Checkpoint(r.ctx)
	if err != nil {
		return row, err
	}
	if row.Bytes, err = saved.WriteTo(&file); err != nil {
		return row, err
	}
	row.SaveMillis = measure.Millis(time.Since(began))
	began = time.Now()
	read, err := resident.ReadCheckpoint(&file)
	if err != nil {
		return row, err
	}
	if err := to.Restore(r.ctx, read); err != nil {
		return row, err
	}
	row.RestoreMillis = measure.Millis(time.Since(began))
	var after [2][]resident.SavedState
	for i, s := range []*resident.Session{from, to} {
		if _, err := s.Run(r.ctx, moveSteps); err != nil {
			return row, err
		}
		end, err := s.Checkpoint(r.ctx)
		if err != nil {
			return row, err
		}
		after[i] = end.States()
	}
	changed := !slices.Equal(saved.States(), after[0])
	row.Verified = changed && slices.Equal(after[0], after[1])
	return row, nil
}
