//go:build linux

package conv2d

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/shader"
)

// kernelFiles are the texts of all kernels, by file name.
func kernelFiles(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("kernels/*.comp")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d kernels: %v", len(files), err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}

// TestKernelsCompileAlone compiles the files as they are, without defines.
func TestKernelsCompileAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for file, text := range kernelFiles(t) {
		if !strings.HasPrefix(text, "#version 450 core\n") {
			t.Errorf("%s does not begin with its #version", file)
		}
		handle, err := r.cache.Get(t.Context(), shader.MustSource(file, text, nil))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		handle.Release()
	}
}

// What every kernel that ends a sum has, for numbers (T is float) and for vectors of
// them: see docs/tuning.md for why each has it itself.
const (
	activationNames = `#define ACTIVATION_NONE 0
#define ACTIVATION_RELU 1
#define ACTIVATION_TANH 2
#define ACTIVATION_SILU 3
#define ACTIVATION_SIGMOID 4
#ifndef ACTIVATION
#define ACTIVATION ACTIVATION_NONE
#endif
`
	activationText = `T activate(T x) {
#if ACTIVATION == ACTIVATION_RELU
    // Not max(x, 0.0), which loses NaN; precise keeps compilers from making it so.
    precise T y = NEGATIVE(T(0.0), x);
    return y;
#elif ACTIVATION == ACTIVATION_TANH
    // Not tanh(x), which overflows to NaN for large x on some drivers.
    T e = exp(-2.0 * abs(x));
    T y = (1.0 - e) / (1.0 + e);
    return NEGATIVE(-y, y);
#elif ACTIVATION == ACTIVATION_SILU
    return x / (1.0 + exp(-x));
#elif ACTIVATION == ACTIVATION_SIGMOID
    return 1.0 / (1.0 + exp(-x));
#else
    return x;
#endif
}
`
)

var (
	activateFunction = regexp.MustCompile(`(?ms)^(\w+) activate\(\w+ x\) \{$.*?^\}\n`)
	whereNegative    = regexp.MustCompile(`mix\(([xy]), ([^;]*), (?:LESS|lessThan\(x, T\(0\.0\)\))\);|x < 0\.0 \? ([^;]*) : ([xy]);`)
)

// TestActivationIsTheSameInEveryKernel compares the function of each kernel.
func TestActivationIsTheSameInEveryKernel(t *testing.T) {
	found := 0
	for file, text := range kernelFiles(t) {
		m := activateFunction.FindStringSubmatch(text)
		if m == nil {
			if strings.Contains(text, "ACTIVATION") {
				t.Errorf("%s has another activate", file)
			}
			continue
		}
		found++
		if !strings.Contains(text, activationNames) {
			t.Errorf("%s numbers activations otherwise", file)
		}
		got := regexp.MustCompile(`\b`+m[1]+`\b`).ReplaceAllString(m[0], "T")
		got = whereNegative.ReplaceAllStringFunc(got, func(s string) string {
			p := whereNegative.FindStringSubmatch(s)
			if p[1] != "" {
				return "NEGATIVE(" + p[2] + ", " + p[1] + ");"
			}
			return "NEGATIVE(" + strings.Replace(p[3], "0.0", "T(0.0)", 1) + ", " + p[4] + ");"
		})
		if got != activationText {
			t.Errorf("%s computes activations otherwise:\n%s", file, got)
		}
	}
	if found != 12 {
		t.Errorf("%d kernels end sums", found)
	}
}

var transformFunction = regexp.MustCompile(`(?ms)^void transform\(.*?^\}\n`)

// TestWinogradTransformsAreTheSameInEveryKernel compares the functions of the kernels of
// three dispatches with those of the fused one.
func TestWinogradTransformsAreTheSameInEveryKernel(t *testing.T) {
	texts := kernelFiles(t)
	for file, name := range map[string]string{"conv2d_winograd_input.comp": "transformInput", "conv2d_winograd_output.comp": "transformOutput"} {
		functions := transformFunction.FindAllString(texts[file], -1)
		if len(functions) != 2 {
			t.Errorf("%s has %d transforms", file, len(functions))
		}
		for _, f := range functions {
			if !strings.Contains(texts["conv2d_winograd_fused.comp"], strings.Replace(f, "transform", name, 1)) {
				t.Errorf("the fused kernel has another %s than %s:\n%s", name, file, f)
			}
		}
	}
}
