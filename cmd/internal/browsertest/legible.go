package browsertest

import _ "embed"

//go:embed contrast.js
var contrast string

// WantLegible checks that the texts of a page can be read: each has the contrast of WCAG 2.1
// level AA, and there are some. what is the state of the page, for messages.
func (p *Page) WantLegible(what string) {
	p.t.Helper()
	var found struct {
		Texts int
		Poor  []string
	}
	p.Eval(contrast, &found)
	if found.Texts < 10 {
		p.t.Errorf("%s: the page has %d texts", what, found.Texts)
	}
	for _, poor := range found.Poor {
		p.t.Errorf("%s: contrast of %s", what, poor)
	}
}

// WantNoScroll checks that the page is no wider than the window: wide tables scroll within
// themselves.
func (p *Page) WantNoScroll() {
	p.t.Helper()
	var width, window float64
	p.Eval(`document.documentElement.scrollWidth`, &width)
	p.Eval(`innerWidth`, &window)
	if width > window {
		p.t.Errorf("the page is %v pixels wide in a window of %v", width, window)
	}
}

// WantNoErrors checks that the page has reported none.
func (p *Page) WantNoErrors() {
	p.t.Helper()
	for _, text := range p.Errors() {
		p.t.Errorf("the page reports %s", text)
	}
}
