package shader

import "testing"

func TestSourceDiff(t *testing.T) {
	source := func(text string) *Source { return NewFinalSource("a", text, nil) }
	tests := []struct {
		ours, theirs string
		want         *LineDiff
	}{
		{"a\nb\n", "a\nb\n", nil},
		{"a\nb\nc\n", "a\nB\nc\n", &LineDiff{2, "b", "B"}},
		{"a\n", "a\nb\n", &LineDiff{2, "", "b"}},
		{"a\nb\n", "a\n", &LineDiff{2, "b", ""}},
	}
	for _, test := range tests {
		got := source(test.ours).Diff(source(test.theirs))
		if (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
			t.Errorf("%q and %q: got %+v, want %+v", test.ours, test.theirs, got, test.want)
		}
	}
}
