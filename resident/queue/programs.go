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
	"github.com/shadercache/shadercache/resident/assembly"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels
var kernels embed.FS

// Item says what is done with an item.
type Item struct {
	// Name is the program's label, for people.
	Name string

	// Text is GLSL without #version: see the package documentation.
	Text string

	// Defines are put before the text. Names that begin with QUEUE_ are the
	// queue's.
	Defines shader.Defines

	// Memory is bound for the text's storage blocks, from FirstBinding on.
	Memory []executor.Bound

	// Uniforms are those of the text.
	Uniforms []executor.Uniform
}

// FirstBinding is the first storage binding that an Item may use.
const FirstBinding = 4

// programs are the four kernels of a queue.
type programs struct {
	push, plan, gather, run *cache.Handle
}

func (p *programs) get(ctx context.Context, from executor.Programs, item Item, o Options) error {
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
	err := assembly.Get(ctx, from, kernels,
		assembly.Program{To: &p.push, Name: "queue_push", Defines: defines},
		assembly.Program{To: &p.plan, Name: "queue_plan", Defines: defines},
		assembly.Program{To: &p.gather, Name: "queue_gather", Defines: defines},
		assembly.Program{To: &p.run, Name: item.Name, Kernel: "queue_run.comp",
			Replaced: map[string]string{"item.glsl": item.Text}, Defines: withItem})
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return nil
}

func (p *programs) release() { assembly.Release(p.push, p.plan, p.gather, p.run) }
