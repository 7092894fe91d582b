//go:build linux

package queue

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"strconv"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels
var kernels embed.FS

// Item describes how items are processed.
type Item struct {
	// Name is the label of the program.
	Name string

	// Text is GLSL without #version: see the package documentation.
	Text string

	// Loops bounds the loop turns of an invocation for one item: a loop of n turns counts
	// n + 1 each time that it is run, and a call of queuePush Options.Words + 1. Software
	// drivers end loops silently after 65,535 of them, over all the items that an
	// invocation takes in a round: it takes as many as stay below that, and New fails where
	// one has more. Run finds an item that takes more than it declares. Default: 0, no
	// loops.
	Loops uint32

	// Defines are put before the text. Names that begin with QUEUE_ are reserved.
	Defines shader.Defines

	// Memory is bound to the storage blocks of the text, from FirstBinding on.
	Memory []job.Bound

	// Uniforms are the values of the text's uniforms.
	Uniforms []job.Uniform

	// Check computes a known answer, since some drivers accept a program binary and then
	// compute wrong results: it pushes items to a queue, runs it, and returns an error where
	// Memory, which it leaves as it was, or the report is not what is right. New calls it
	// with a queue of its own, once for each binary of this item that is loaded; after an
	// error it compiles the program. The other programs of a queue have a check of their
	// own. Default: none.
	Check func(ctx context.Context, q *Queue) error
}

// FirstBinding is the first storage binding that an Item may use.
const FirstBinding = 4

// queuePrograms are the four kernels of a queue.
type queuePrograms struct {
	push, plan, gather, run *cache.Handle
}

// getPrograms gets the programs of the queue. Those that were loaded are checked.
func (q *Queue) getPrograms(ctx context.Context, from executor.Programs) error {
	defines := q.options.defines()
	handles, err := kernelset.GetChecked(ctx, from, kernels, q.checkOwn,
		kernelset.Kernel{Name: "queue_push", Defines: defines},
		kernelset.Kernel{Name: "queue_plan", Defines: defines},
		kernelset.Kernel{Name: "queue_gather", Defines: defines})
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	q.programs = queuePrograms{push: handles[0], plan: handles[1], gather: handles[2]}
	withItem := shader.Defines{}
	maps.Copy(withItem, q.item.Defines)
	maps.Copy(withItem, defines)
	run := kernelset.Kernel{Name: q.item.Name, File: "queue_run.comp",
		Texts: map[string]string{"item.glsl": q.item.Text}, Defines: withItem}
	check := q.checkItem
	if q.item.Check == nil {
		check = nil
	}
	if handles, err = kernelset.GetChecked(ctx, from, kernels, check, run); err != nil {
		q.programs.release()
		return fmt.Errorf("queue: %w", err)
	}
	q.programs.run = handles[0]
	return nil
}

func (o Options) defines() shader.Defines {
	defines := shader.Defines{
		"QUEUE_WORDS":    strconv.Itoa(o.Words),
		"QUEUE_LEVELS":   strconv.Itoa(o.Levels),
		"QUEUE_RANGES":   strconv.Itoa(o.ranges()),
		"QUEUE_CAPACITY": strconv.Itoa(o.Capacity),
		"QUEUE_GROUPS":   strconv.Itoa(o.Groups),
		"QUEUE_LOCAL":    strconv.Itoa(o.Local),
		"QUEUE_TAKES":    strconv.Itoa(o.Takes),
		"QUEUE_LIFO":     "0",
	}
	if o.Order == LIFO {
		defines["QUEUE_LIFO"] = "1"
	}
	return defines
}

func (p *queuePrograms) release() { kernelset.Release(p.push, p.plan, p.gather, p.run) }
