package kernelset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/shader"
)

// checkedPrograms is implemented by *cache.Cache.
type checkedPrograms interface {
	CheckTogether(ctx context.Context, handles []*cache.Handle, check func(context.Context) error) error
	RejectWrong(key shader.Key, reason string) bool
}

var _ checkedPrograms = (*cache.Cache)(nil)

// Checked calls get, and then check where programs that get returns were loaded from
// binaries that no check has passed: see cache.Cache.CheckTogether. Their sources have the
// check CheckLater. Where they compute wrong it calls release, rejects their binaries, and
// calls get again, which compiles them. It fails if they cannot be compiled because others
// use them, and if the driver computes them wrong nevertheless. After an error of check,
// nothing is released.
func Checked(ctx context.Context, programs executor.Programs, get func() ([]*cache.Handle, error), release func(), check func(context.Context) error) error {
	checked, ok := programs.(checkedPrograms)
	if !ok {
		_, err := get()
		return err
	}
	var wrong *cache.WrongAnswerError
	for range 2 {
		handles, err := get()
		if err != nil {
			return err
		}
		err = checked.CheckTogether(ctx, handles, check)
		if !errors.As(err, &wrong) || wrong.Compiled {
			return err
		}
		release()
		for _, key := range wrong.Keys {
			checked.RejectWrong(key, wrong.Err.Error())
		}
	}
	return fmt.Errorf("%w; it is in use, and cannot be compiled before it is released", wrong)
}

// CheckLater is the check of sources that Checked checks.
func CheckLater(context.Context, uint32) error { return shader.ErrCheckLater }

// GetChecked is Get for kernels that are checked together: see Checked. check gets the
// programs in order. Without a check, nil, it is Get.
func GetChecked(ctx context.Context, programs executor.Programs, files fs.FS, check func(context.Context, []*cache.Handle) error, list ...Kernel) ([]*cache.Handle, error) {
	if check == nil {
		return Get(ctx, programs, files, list...)
	}
	for i := range list {
		list[i].Check = CheckLater
	}
	var handles []*cache.Handle
	get := func() (_ []*cache.Handle, err error) {
		handles, err = Get(ctx, programs, files, list...)
		return handles, err
	}
	release := func() { Release(handles...); handles = nil }
	if err := Checked(ctx, programs, get, release, func(ctx context.Context) error { return check(ctx, handles) }); err != nil {
		release()
		return nil, err
	}
	return handles, nil
}
