package main

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/shadercache/shadercache/trace"
)

// Tracer gives events to OpenTelemetry: each is a span below one span of the start, which the
// caller's context is the parent of, and an instant is an event of that span. Events come
// when they have ended, those within others first, so that spans have one depth: lane and
// task say which lie within which. Its methods may be called from any goroutine.
type Tracer struct {
	ctx    context.Context // of the start's span
	root   otel.Span
	tracer otel.Tracer
}

var _ trace.Tracer = (*Tracer)(nil)

// NewTracer returns a tracer whose span of the start begins now. The caller ends it.
func NewTracer(ctx context.Context, t otel.Tracer) *Tracer {
	ctx, root := t.Start(ctx, "shadercache")
	return &Tracer{ctx, root, t}
}

// End ends the span of the start. Events that come later are spans below it all the same.
func (t *Tracer) End() { t.root.End() }

// Event makes a span of an event.
func (t *Tracer) Event(e trace.Event) {
	attributes := []attribute.KeyValue{attribute.String("shadercache.lane", string(e.Lane)), attribute.Int64("shadercache.task", int64(e.Task))}
	if e.Program != "" {
		attributes = append(attributes, attribute.String("shadercache.program", e.Program))
	}
	if e.Key != "" {
		attributes = append(attributes, attribute.String("shadercache.key", e.Key))
	}
	for _, a := range e.Attrs {
		attributes = append(attributes, attributeOf("shadercache."+a.Name, a.Value))
	}
	if e.Instant {
		t.root.AddEvent(e.Name, otel.WithTimestamp(e.Begin), otel.WithAttributes(attributes...))
		return
	}
	_, span := t.tracer.Start(t.ctx, e.Name, otel.WithTimestamp(e.Begin), otel.WithAttributes(attributes...))
	span.End(otel.WithTimestamp(e.End()))
}

// attributeOf returns the attribute of a value, which is of one of the types of trace.Attr.
func attributeOf(name string, value any) attribute.KeyValue {
	switch v := value.(type) {
	case string:
		return attribute.String(name, v)
	case bool:
		return attribute.Bool(name, v)
	case int64:
		return attribute.Int64(name, v)
	case float64:
		return attribute.Float64(name, v)
	}
	return attribute.String(name, fmt.Sprint(value))
}
