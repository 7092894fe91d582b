//go:build linux

package status

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"regexp"
	"sync"

	"github.com/shadercache/shadercache/internal/style"
)

//go:embed page.html
var pageText string

// livePage returns the page, which the events fill: one file without parts from elsewhere.
var livePage = sync.OnceValue(func() page { return newPage(pageText) })

// page is a page that loads nothing and runs no script but its own.
type page struct {
	html   []byte
	policy string // Content-Security-Policy
}

func newPage(text string) page {
	html := style.In(text)
	element := regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`)
	policy := "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	for _, part := range element.FindAllStringSubmatch(html, -1) {
		sum := sha256.Sum256([]byte(part[2]))
		policy += "; " + part[1] + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return page{[]byte(html), policy}
}

func (p page) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", p.policy)
	w.Header().Set("Cache-Control", "no-store") // another release has another page
	_, _ = w.Write(p.html)
}
