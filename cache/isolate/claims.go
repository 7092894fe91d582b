package isolate

import (
	"bytes"
	"slices"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/shader"
)

// progressTime is how often claimTogether looks which programs have become known.
const progressTime = 100 * time.Millisecond

// claimTogether claims programs that are compiled together and of which known returns
// false, each unless another process has it. While one has the lowest of the missing
// keys, which every process begins with, it probably compiles the others too: then
// claimTogether waits holding nothing, as long as pause returns true and every patience a
// program becomes known. waited reports whether it did. The caller calls the functions
// that are returned, by key, when a program is stored or was not compiled.
func claimTogether(c cache.Claims, keys []shader.Key, known func(shader.Key) bool, patience time.Duration, pause func() bool) (held map[shader.Key]func(), waited bool) {
	keys = slices.DeleteFunc(slices.Clone(keys), known)
	slices.SortFunc(keys, func(a, b shader.Key) int { return bytes.Compare(a[:], b[:]) })
	held = map[shader.Key]func(){}
	progress, looked := time.Now(), time.Now()
	for len(keys) > 0 {
		release, claimed := c.Claim(keys[0])
		if claimed && !waited || claimed && !known(keys[0]) {
			held[keys[0]] = release
			break
		}
		release()
		if !claimed {
			waited = true
			if time.Since(progress) > patience || !pause() {
				break
			}
		}
		if claimed || time.Since(looked) > progressTime {
			before := len(keys)
			keys, looked = slices.DeleteFunc(keys, known), time.Now()
			if len(keys) < before {
				progress = looked
			}
		}
	}
	for _, key := range keys[min(1, len(keys)):] {
		if release, claimed := c.Claim(key); claimed {
			held[key] = release
		}
	}
	return held, waited
}
