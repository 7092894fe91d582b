package main

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/shadercache/shadercache/trace"
)

func TestEventsAreSpans(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	tracer := NewTracer(context.Background(), provider.Tracer("test"))
	outer := trace.Begin(tracer, trace.Loads, 0, trace.Load)
	outer.About("blur", "5e88")
	inner := outer.Begin(trace.ReadBlob)
	inner.End(trace.Int("bytes", 42), trace.Bool("upstream", true))
	time.Sleep(time.Millisecond)
	outer.End(trace.String("origin", "disk"), trace.Float("share", 0.5))
	trace.Instant(tracer, trace.Writes, trace.Evict, "blur", "5e88")
	tracer.End()
	spans := recorder.Ended()
	if len(spans) != 3 || spans[0].Name() != trace.ReadBlob || spans[1].Name() != trace.Load || spans[2].Name() != "shadercache" {
		t.Fatalf("%v", spans)
	}
	read, load, root := spans[0], spans[1], spans[2]
	for _, s := range spans[:2] {
		if s.Parent().SpanID() != root.SpanContext().SpanID() {
			t.Errorf("%s is not below the start", s.Name())
		}
	}
	if read.StartTime().Before(load.StartTime()) || read.EndTime().After(load.EndTime()) || load.EndTime().Sub(load.StartTime()) < time.Millisecond {
		t.Errorf("load from %v to %v, read from %v to %v", load.StartTime(), load.EndTime(), read.StartTime(), read.EndTime())
	}
	for _, want := range []attribute.KeyValue{attribute.Int64("shadercache.bytes", 42), attribute.Bool("shadercache.upstream", true), attribute.String("shadercache.program", "blur")} {
		if !has(read.Attributes(), want) {
			t.Errorf("read has %v, not %v", read.Attributes(), want)
		}
	}
	if !has(load.Attributes(), attribute.Float64("shadercache.share", 0.5)) || !has(load.Attributes(), attribute.String("shadercache.origin", "disk")) {
		t.Errorf("load has %v", load.Attributes())
	}
	if events := root.Events(); len(events) != 1 || events[0].Name != trace.Evict {
		t.Errorf("events %v", events)
	}
}

func has(list []attribute.KeyValue, want attribute.KeyValue) bool {
	for _, a := range list {
		if a == want {
			return true
		}
	}
	return false
}
