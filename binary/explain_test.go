package binary

import (
	"testing"

	"github.com/shadercache/shadercache/shader"
)

func TestFailuresAreListed(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	source := shader.MustSource("bad", "void main() { a; }", nil)
	must(t, s.PutFailure(source, "0:1: no"))
	writeTestFile(t, failures.path(s.path, testKey(1)), []byte("{"), start)
	for key, name := range s.Failures() {
		if key != source.Key() || name != "bad" {
			t.Errorf("%s %q", key, name)
		}
	}
	if e := s.Explain(source.Key()); e.Failure != "0:1: no" || e.Name != "bad" {
		t.Errorf("%+v", e)
	}
}
