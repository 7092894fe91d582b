//go:build linux

package queue

import (
	"context"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/cache"
)

// checkedItems is the number of items on a level of the check, where there is room.
const checkedItems = 100

// checkOwn checks the programs without text of an item, push, plan and gather: items that
// are pushed twice come to the device in their order, level by level.
func (q *Queue) checkOwn(ctx context.Context, handles []*cache.Handle) error {
	known := &Queue{executor: q.executor, options: q.options,
		programs: queuePrograms{push: handles[0], plan: handles[1], gather: handles[2]}}
	if err := known.prepare(); err != nil {
		return err
	}
	defer known.buffers.release()
	levels := make([][]uint32, q.options.Levels)
	n := min(checkedItems, q.options.Capacity/(2*q.options.Levels), uploadWords/(q.options.Words*q.options.Levels))
	for round := range 2 {
		for level := range levels {
			items := knownItems(n*q.options.Words, uint32(2*level+round))
			levels[level] = append(levels[level], items...)
			if err := known.Push(level, items...); err != nil {
				return err
			}
		}
		if err := known.submitRounds(ctx, 0); err != nil {
			return err
		}
	}
	return known.compareItems(ctx, levels)
}

func knownItems(words int, seed uint32) []uint32 {
	list := make([]uint32, words)
	for i := range list {
		list[i] = (seed<<20 + uint32(i) + 1) * 2654435761
	}
	return list
}

// compareItems compares the report, and the items on the device, with levels.
func (q *Queue) compareItems(ctx context.Context, levels [][]uint32) error {
	for level, want := range levels {
		if n := len(want) / q.options.Words; q.lastReport.Levels[level] != n {
			return fmt.Errorf("queue: the report has %d items on level %d, there are %d", q.lastReport.Levels[level], level, n)
		}
		if len(want) == 0 {
			continue
		}
		got := make([]uint32, len(want))
		if err := q.buffers.items[q.parity].Download(ctx, level*q.options.Capacity*q.options.Words, got); err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("queue: level %d has other items than were pushed", level)
		}
	}
	return nil
}

// checkItem calls Item.Check with a queue of its own.
func (q *Queue) checkItem(ctx context.Context, handles []*cache.Handle) error {
	known := &Queue{executor: q.executor, options: q.options, item: q.item, programs: q.programs}
	known.programs.run = handles[0]
	if err := known.prepare(); err != nil {
		return err
	}
	defer known.buffers.release()
	return q.item.Check(ctx, known)
}
