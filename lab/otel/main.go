// Command otel shows a start of shadercache in OpenTelemetry: it makes a program resident, and
// prints the spans of what happened. Programs that have a tracer provider take tracer.go, and
// leave the rest.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/shader"
)

var double = shader.MustSource("double", `
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer Values { float values[]; };
void main() { values[gl_GlobalInvocationID.x] *= 2.0; }`, nil)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "otel:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	exporter, err := stdouttrace.New()
	if err != nil {
		return err
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter))
	err = start(ctx, NewTracer(ctx, provider.Tracer("shadercache")))
	return errors.Join(err, provider.Shutdown(ctx))
}

// start is the start of an application.
func start(ctx context.Context, tracer *Tracer) error {
	defer tracer.End()
	gpu, err := shadercache.Open(shadercache.Options{Tracer: tracer})
	if err != nil {
		return err
	}
	program, err := gpu.Cache.Get(ctx, double)
	program.Release()
	return errors.Join(err, gpu.Close())
}
