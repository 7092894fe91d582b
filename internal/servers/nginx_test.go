package servers

import (
	"os"
	"strings"
	"testing"
)

func TestDocumentedSiteIsTheTestedOne(t *testing.T) {
	page, err := os.ReadFile("../../docs/remotes.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```nginx\n"+NginxSite+"```") {
		t.Error("docs/remotes.md has another configuration than nginx.conf")
	}
}
