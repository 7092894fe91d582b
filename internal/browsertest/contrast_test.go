package browsertest_test

import (
	_ "embed"
	"testing"

	"github.com/shadercache/shadercache/internal/browsertest"
)

//go:embed contrast.js
var contrast string

// wantContrast checks that all text of a page can be read.
func wantContrast(t *testing.T, p *browsertest.Page, what string) {
	t.Helper()
	var found struct {
		Texts int
		Poor  []string
	}
	p.Eval(contrast, &found)
	if found.Texts < 10 {
		t.Errorf("%s: the page has %d texts", what, found.Texts)
	}
	for _, poor := range found.Poor {
		t.Errorf("%s: contrast of %s", what, poor)
	}
}
