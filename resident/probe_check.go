//go:build linux

package resident

import (
	"context"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/shader"
)

// knownAnswers are the words of the buffer of each probe before and after a run of one
// group, which depends on no other group and on no write of the host.
var knownAnswers = map[string]struct {
	barriers      uint32 // of the uniform, where there is one
	before, after []uint32
}{
	"probe_loops":      {before: []uint32{0, 100, 0, 0}, after: []uint32{100, 100, 150, 0}},
	"probe_barrier":    {barriers: 3, before: make([]uint32, 4), after: []uint32{3, 0, 1, 0}},
	"probe_visibility": {before: visibilityWords(pingStop, 0, 0, 0), after: visibilityWords(pingStop, pingStop, 1, 1)},
}

func visibilityWords(ping, pong, polls, running uint32) []uint32 {
	words := make([]uint32, pingWords)
	words[pingWord], words[pongWord], words[pollsWord], words[runningWord] = ping, pong, polls, running
	return words
}

// check returns the check of a probe, which runs it with its known answer.
func (p *prober) check(name string) shader.Check {
	known := knownAnswers[name]
	return func(_ context.Context, program uint32) error {
		words, _, err := p.runWords(program, 1, known.barriers, known.before)
		if err == nil && !slices.Equal(words, known.after) {
			err = fmt.Errorf("%s computes %v, should be %v", name, words, known.after)
		}
		return err
	}
}
