package executor

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/glctx"
)

// CopyFrom copies n bytes on the device from other at from to offset, after the jobs
// submitted so far that use either. The two must not be one memory. Where one of them is
// pinned or mapped, the copy is complete when it returns.
func (m *Memory) CopyFrom(ctx context.Context, offset int, other *Memory, from, n int) error {
	if other == m {
		return fmt.Errorf("executor: memory cannot be copied to itself")
	}
	if other.e != m.e {
		return fmt.Errorf("executor: memory of another executor cannot be copied")
	}
	// An access of no bytes waits for the jobs that use other and checks its range.
	if err := other.access(ctx, from, n, func(*glctx.GL) {}); err != nil {
		return err
	}
	return m.access(ctx, offset, n, func(gl *glctx.GL) {
		gl.Copy(other.buffer, from, m.buffer, offset, n)
		if m.isPinned() || m.isMapped() || other.isPinned() || other.isMapped() {
			gl.Finish()
		}
	})
}
