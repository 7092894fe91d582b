//go:build !linux

package shadercache

import (
	"context"
	"fmt"
)

func checkServerName(string, string) error { return nil }

func (o Options) dialServer(context.Context, string) (Device, error) {
	return nil, fmt.Errorf("%w: there are servers on Linux only", ErrNoServer)
}
