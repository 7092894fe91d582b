//go:build linux

package status

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
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
	var html bytes.Buffer
	made := template.Must(template.New("page").Funcs(template.FuncMap{"style": style.Sheet}).Parse(text))
	if err := made.Execute(&html, nil); err != nil {
		panic(err) // the template has no data
	}
	element := regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`)
	policy := "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	for _, part := range element.FindAllSubmatch(html.Bytes(), -1) {
		sum := sha256.Sum256(part[2])
		policy += "; " + string(part[1]) + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return page{html.Bytes(), policy}
}

func (p page) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", p.policy)
	w.Header().Set("Cache-Control", "no-store") // another release has another page
	_, _ = w.Write(p.html)
}
