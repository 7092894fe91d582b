package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

func TestReport(t *testing.T) {
	cmd := &cobra.Command{Use: "tool"}
	compile := &shader.CompileError{Name: "blur", Log: "0:3: error: no main"}
	for name, c := range map[string]struct {
		err  error
		code int
		text string
	}{
		"success":     {nil, ExitGood, ""},
		"failure":     {errors.New("no\x1b[31m"), ExitFailed, "shadercache: no\\x1b[31m\n"},
		"hint":        {fmt.Errorf("a: %w", Hint(errors.New("b"), "do c")), ExitFailed, "shadercache: a: b\nhint: do c\n"},
		"usage":       {Usage(cmd, errors.New("no flag")), ExitUsage, "shadercache: no flag\nhint: tool --help\n"},
		"printed":     {fmt.Errorf("a: %w", ErrReported), ExitFailed, ""},
		"exit code":   {Exit(errors.New("no x"), ExitNotFound), ExitNotFound, "shadercache: no x\n"},
		"several":     {Several([]error{Hint(errors.New("a"), "do c"), errors.New("b")}), ExitFailed, "shadercache: a\nhint: do c\nshadercache: b\n"},
		"none":        {Several(nil), ExitGood, ""},
		"interrupted": {context.Canceled, ExitFailed, "shadercache: interrupted\n"},
		"compile":     {compile, ExitFailed, "shadercache: " + compile.Error() + "\n" + compile.Detail()},
	} {
		var out strings.Builder
		if code := (&Options{Stderr: &out}).Report(c.err); code != c.code || out.String() != c.text {
			t.Errorf("%s: code %d, %q, want %q", name, code, out.String(), c.text)
		}
	}
}

// With --json each failure is one line of JSON with a code.
func TestReportAsJSON(t *testing.T) {
	compile := &shader.CompileError{Name: "blur", Log: "0:3: error: no main"}
	codes := map[string]bool{}
	for _, c := range ErrorCodes() {
		codes[c.Code] = true
	}
	for code, err := range map[string]error{
		"usage":             Usage(&cobra.Command{Use: "tool"}, errors.New("no flag")),
		"compile_failed":    fmt.Errorf("a: %w", compile),
		"interrupted":       fmt.Errorf("a: %w", context.Canceled),
		"bundle_newer":      fmt.Errorf("a: %w", pack.ErrNewer),
		"program_not_found": Exit(errors.New("no x"), ExitNotFound),
		"cannot_execute":    Exit(errors.New("no x"), ExitCannotExecute),
		"quarantined":       &binary.Quarantined{},
		"failed":            Hint(errors.New("a \x1b[31m\nb"), "do c"),
	} {
		var out strings.Builder
		(&Options{JSON: true, Stderr: &out}).Report(err)
		var m JSONMessage
		if e := json.Unmarshal([]byte(out.String()), &m); e != nil || strings.Count(out.String(), "\n") != 1 || strings.Contains(out.String(), "\x1b") {
			t.Fatalf("%v: %q", e, out.String())
		}
		if m.Schema != 1 || m.Level != "error" || m.Code != code || m.Message == "" || m.Hint != HintFor(err) || !codes[code] {
			t.Errorf("%+v, want %s", m, code)
		}
	}
	var out strings.Builder
	(&Options{JSON: true, Stderr: &out}).Logger().Error("left out", "file", "x", "reason", "y")
	if out.String() != `{"schema":1,"level":"error","message":"left out (file x): y"}`+"\n" {
		t.Error(out.String())
	}
}

func TestKnownErrorsHaveHints(t *testing.T) {
	for _, err := range []error{
		glctx.ErrNoDevice, glctx.ErrNoDriver, glctx.ErrTooOld, glctx.ErrKind, glctx.ErrNeeds45, binary.ErrUnsafeDir, binary.ErrNoDir,
		pack.ErrRefused, pack.ErrTooLarge, pack.ErrNewer, pack.ErrUnsigned, pack.ErrSignature, pack.ErrBusy, shader.ErrOutOfMemory, syscall.ENOSPC,
	} {
		if HintFor(fmt.Errorf("wrapped: %w", err)) == "" {
			t.Errorf("%v has no hint", err)
		}
	}
	if hint := HintFor(errors.New("other")); hint != "" {
		t.Errorf("%q", hint)
	}
}

func TestArguments(t *testing.T) {
	root := &cobra.Command{Use: "tool"}
	root.AddCommand(&cobra.Command{Use: "stats", Run: func(*cobra.Command, []string) {}})
	check := usageArgs(KnownCommand)
	if err := check(root, nil); err != nil {
		t.Error(err)
	}
	err := check(root, []string{"stat"})
	if usage, ok := errors.AsType[UsageError](err); !ok || usage.Command != "tool" || err.Error() != `there is no command "tool stat"; did you mean stats?` {
		t.Errorf("%v", err)
	}
	if err := noArguments(root, []string{"x"}); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("%v", err)
	}
	if err := noArguments(root, nil); err != nil {
		t.Error(err)
	}
}

func TestArgumentCounts(t *testing.T) {
	for _, c := range []struct {
		args      []string
		one, some bool
	}{{nil, false, false}, {[]string{"a"}, true, true}, {[]string{"a", "b"}, false, true}} {
		one := new(Options).build(Command{Args: OneArgument("name one")}).Args(&cobra.Command{}, c.args)
		some := SomeArguments("name some")(&cobra.Command{}, c.args)
		if (one == nil) != c.one || (some == nil) != c.some {
			t.Errorf("%q: %v, %v", c.args, one, some)
		}
		if one != nil && (!errors.As(one, new(UsageError)) || one.Error() != "name one") {
			t.Errorf("%q: %v", c.args, one)
		}
	}
}
