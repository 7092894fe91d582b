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
	"github.com/shadercache/shadercache/internal/kernelset"
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
	Memory []executor.Bound

	// Uniforms are the values of the text's uniforms.
	Uniforms []executor.Uniform
}

// FirstBinding is the first storage binding that an Item may use.
const FirstBinding = 4

// queuePrograms are the four kernels of a queue.
type queuePrograms struct {
	push, plan, gather, run *cache.Handle
}

// getPrograms returns the programs of a queue. The caller releases them.
func getPrograms(ctx context.Context, from executor.Programs, item Item, o Options) (queuePrograms, error) {
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
	withItem := maps.Clone(item.Defines)
	if withItem == nil {
		withItem = shader.Defines{}
	}
	maps.Copy(withItem, defines)
	handles, err := kernelset.Get(ctx, from, kernels,
		kernelset.Kernel{Name: "queue_push", Defines: defines},
		kernelset.Kernel{Name: "queue_plan", Defines: defines},
		kernelset.Kernel{Name: "queue_gather", Defines: defines},
		kernelset.Kernel{Name: item.Name, File: "queue_run.comp",
			Texts: map[string]string{"item.glsl": item.Text}, Defines: withItem})
	if err != nil {
		return queuePrograms{}, fmt.Errorf("queue: %w", err)
	}
	return queuePrograms{push: handles[0], plan: handles[1], gather: handles[2], run: handles[3]}, nil
}

func (p *queuePrograms) release() { kernelset.Release(p.push, p.plan, p.gather, p.run) }
