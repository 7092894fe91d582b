//go:build linux

package status_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/status"
)

// TestNamesThatClientsGive has markup, line ends and what controls a terminal in the texts that
// come from clients: no page has them as they are, and metrics have none of them.
func TestNamesThatClientsGive(t *testing.T) {
	const name = "</script><img src=x onerror=alert(1)>\"'&\n\ndata: {}\r\n# TYPE x gauge\nx{a=\"b\"} 1\x00\x1b[2J\u202E\u2028"
	few := sample()
	_, get := serve(t, few)
	_, before := get("GET", "/metrics")
	many := sample()
	for i := range 300 {
		many.Sessions = append(many.Sessions, server.SessionStatus{ID: uint64(i), Client: fmt.Sprint(name, i)})
		many.Failures = append(many.Failures, server.FailedRequest{Client: name, Request: name, Error: name, Message: name})
	}
	many.Ended, many.GPU, many.Error = name, name, ""
	_, get = serve(t, many)
	_, after := get("GET", "/metrics")
	series := func(text string) []string {
		return regexp.MustCompile(`(?m)^shadercache_server_\S+`).FindAllString(text, -1)
	}
	if !reflect.DeepEqual(series(before), series(after)) {
		t.Errorf("the series depend on the sessions:\n%v\n%v", series(before), series(after))
	}
	_, body := get("GET", "/status")
	var report status.Report
	if err := json.Unmarshal([]byte(body), &report); err != nil || report.Devices[0].Sessions[2].Client != name+"0" {
		t.Errorf("the status: %v", err)
	}
	if at := strings.IndexAny(body, "<>&\x00\x1b\r\u2028"); at >= 0 {
		t.Errorf("the status has %q", body[at:min(at+20, len(body))])
	}
	_, page := get("GET", "/")
	if strings.Contains(page, "alert(1)") {
		t.Error("the page has a name")
	}
}

// TestThePageWritesTexts: its script makes elements and sets their text, and never markup.
func TestThePageWritesTexts(t *testing.T) {
	page, err := os.ReadFile("page.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacent", "document.write", "createContextualFragment", "DOMParser", "eval(", "Function(", ".href", ".src", "javascript:"} {
		if strings.Contains(string(page), bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}
