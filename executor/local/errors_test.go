package local

import (
	"errors"
	"fmt"
	"testing"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// TestErrorsOfOneKind checks that what is closed or released is no fault of the job: a client of
// a server that shuts down would be told so.
func TestErrorsOfOneKind(t *testing.T) {
	for _, kind := range []error{shader.ErrClosed, job.ErrReleased} {
		err := (*Device)(nil).JobError(fmt.Errorf("executor: %w", kind))
		if !errors.Is(err, kind) || errors.Is(err, job.ErrInvalid) {
			t.Errorf("%v: %v", kind, err)
		}
	}
	if err := (*Device)(nil).JobError(errors.New("of the job")); !errors.Is(err, job.ErrInvalid) {
		t.Error(err)
	}
}
