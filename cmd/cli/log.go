package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// LogLevel is a flag that names a slog.Level.
type LogLevel slog.Level

func (l *LogLevel) Type() string { return "level" }

func (l *LogLevel) String() string { return strings.ToLower(slog.Level(*l).String()) }

func (l *LogLevel) Set(text string) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(text)); err != nil {
		return fmt.Errorf("%q is not debug, info, warn or error", text)
	}
	*l = LogLevel(level)
	return nil
}

// Logger returns a logger that writes lines of at least --log-level to standard error.
func (o *Options) Logger() *slog.Logger {
	return slog.New(&lineHandler{out: o.Stderr, level: slog.Level(o.LogLevel), json: o.JSON, lock: new(sync.Mutex)})
}

// lineHandler writes each record as one line, with --json as a JSONMessage:
//
//	shadercache: warning: message (key value, key value): reason
type lineHandler struct {
	out   io.Writer
	level slog.Level
	json  bool // lines are JSONMessages
	attrs []slog.Attr
	lock  *sync.Mutex
}

func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var details []string
	reason := ""
	add := func(a slog.Attr) bool {
		if a.Key == "reason" || a.Key == "error" {
			reason += fmt.Sprintf(": %v", a.Value)
		} else {
			details = append(details, fmt.Sprintf("%s %v", a.Key, a.Value))
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	message := r.Message
	if len(details) > 0 {
		message += " (" + strings.Join(details, ", ") + ")"
	}
	message += reason
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.json {
		printMessage(h.out, JSONMessage{Schema: messageSchema, Level: levelWord(r.Level), Message: message})
		return nil
	}
	line := "shadercache: " + levelWord(r.Level) + ": " + message
	_, err := io.WriteString(h.out, escapeMessage(line)+"\n")
	return err
}

func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *h
	more.attrs = append(append([]slog.Attr{}, h.attrs...), attrs...)
	return &more
}

// WithGroup changes nothing: lines have no groups.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }

func levelWord(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "error"
	case l >= slog.LevelWarn:
		return "warning"
	case l >= slog.LevelInfo:
		return "info"
	}
	return "debug"
}
