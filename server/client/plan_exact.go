//go:build linux

package client

import (
	"context"
	"strings"

	"github.com/shadercache/shadercache/server/wire"
)

// NamedExactPlan is NamedPlan without algorithms that err by more than a sum of products
// does.
func (c *Client) NamedExactPlan(ctx context.Context, name string, layers ...string) (*Plan, error) {
	return c.plan(ctx, &wire.Plan{Flags: wire.Create | wire.Exact, Name: []byte(name), Spec: []byte(strings.Join(layers, "\n"))})
}
