package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible is a context that ends at the first interrupt, so that what is
// under way can be stored. A second interrupt ends the process.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
