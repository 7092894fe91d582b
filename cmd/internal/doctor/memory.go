package doctor

import (
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/cli"
)

// littleMemory is free memory of a GPU in which a context and some hundred programs still
// fit: a context takes about 20 MiB (docs/measurements.md).
const littleMemory = 128 << 20

// examineMemory adds what is known of the GPU's memory, and nothing for a driver that does
// not say.
func (r *Report) examineMemory(m cache.GPUMemory) {
	const check = "gpu_memory"
	switch text := cli.GPUMemoryText(m); {
	case text == "":
	case m.Free < littleMemory:
		r.note(check, "end other processes that use the GPU, or set cache.Options.MinFreeGPUBytes in them", "%s: contexts and programs may fail for lack of memory", text)
	default:
		r.good(check, "%s", text)
	}
}
