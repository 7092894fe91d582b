package executor

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// checkedWords is how many words the check of the copying kernel copies: each invocation
// four at once and then one, and three invocations another one.
const checkedWords = 5*copyGroups*copyLocal + 3

// checkCopy returns the check of the copying kernel, for programs that were loaded: random
// words arrive, 640 KiB, and nothing behind them is written.
func checkCopy(c *glctx.Context) shader.Check {
	return func(_ context.Context, program uint32) error {
		return c.Do(func(gl *glctx.GL) error { return copyKnown(gl, program) })
	}
}

func copyKnown(gl *glctx.GL, program uint32) error {
	const perWord = wordBytes / 4
	random := rand.New(rand.NewPCG(1, 0))
	words := make([]uint32, perWord*(checkedWords+copyLocal))
	for i := range words {
		words[i] = random.Uint32() | 1
	}
	from, err := gl.NewBuffer(4*len(words), glctx.Bytes(words))
	if err != nil {
		return err
	}
	defer gl.DeleteBuffer(from)
	got := make([]uint32, len(words))
	to, err := gl.NewBuffer(4*len(got), glctx.Bytes(got))
	if err != nil {
		return err
	}
	defer gl.DeleteBuffer(to)
	gl.UseProgram(program)
	gl.BindStorage(0, from)
	gl.BindStorage(1, to)
	gl.SetUint(gl.UniformLocation(program, "count"), checkedWords)
	gl.Dispatch(copyGroups, 1, 1)
	gl.MemoryBarrier(glctx.BarrierUpdate)
	gl.Download(to, 0, glctx.Bytes(got))
	if err := gl.Err(); err != nil {
		return err
	}
	clear(words[perWord*checkedWords:])
	for i, word := range got {
		if word != words[i] {
			return fmt.Errorf("executor: word %d of a copy is %#x, should be %#x", i, word, words[i])
		}
	}
	return nil
}
