package doctor

import (
	"testing"

	"github.com/shadercache/shadercache/cache"
)

func TestMemoryOfTheGPU(t *testing.T) {
	for _, c := range []struct {
		memory        cache.GPUMemory
		level, detail string
	}{
		{cache.GPUMemory{Total: 8 << 30, Free: 6 << 30}, LevelGood, "6.0 GiB free of 8.0 GiB"},
		{cache.GPUMemory{Free: 6 << 30}, LevelGood, "6.0 GiB free"},
		{cache.GPUMemory{Total: 8 << 30, Free: 1 << 20}, LevelNote, "may fail for lack of memory"},
	} {
		r := &Report{Good: true}
		r.examineMemory(c.memory)
		wantFinding(t, r, c.level, c.detail, "")
	}
	r := &Report{Good: true}
	if r.examineMemory(cache.GPUMemory{}); len(r.Findings) != 0 {
		t.Errorf("nothing is known: %+v", r.Findings)
	}
}
