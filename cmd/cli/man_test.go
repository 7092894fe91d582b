package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestManPages(t *testing.T) {
	root := &cobra.Command{Use: "tool", Short: "Do things", Long: "A tool.\n.dot"}
	sub := &cobra.Command{Use: "work FILE", Short: "Work", Example: "  tool work a-b", Run: func(*cobra.Command, []string) {}}
	sub.Flags().StringP("name", "n", "", "the `NAME` to use")
	sub.Flags().Bool("secret", false, "")
	_ = sub.Flags().MarkHidden("secret")
	root.PersistentFlags().Bool("json", false, "print JSON")
	root.AddCommand(sub, &cobra.Command{Use: "child", Hidden: true, Run: func(*cobra.Command, []string) {}})
	dir := filepath.Join(t.TempDir(), "man1")
	pages, err := new(Options).writeManPages(dir, root)
	if err != nil || !slices.Equal(pages, []string{"tool.1", "tool-work.1"}) {
		t.Fatalf("%q, %v", pages, err)
	}
	for page, parts := range map[string][]string{
		"tool.1":      {".TH \"TOOL\" 1", "tool \\- Do things", "\\&.dot", ".SH SEE ALSO\n\\fBtool\\-work\\fR(1)"},
		"tool-work.1": {".SH SYNOPSIS\n.nf\ntool work FILE", "\\fB\\-n, \\-\\-name\\fR \\fINAME\\fR\nthe NAME to use", ".SH GLOBAL OPTIONS", "tool work a\\-b"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %q:\n%s", page, part, text)
			}
		}
		if strings.Contains(string(text), "secret") {
			t.Errorf("%s has a hidden flag", page)
		}
	}
	if _, err := new(Options).writeManPages(filepath.Join(dir, "tool.1"), root); err == nil {
		t.Error("pages were written into a file")
	}
}

func TestTroffPrintsTextUnchanged(t *testing.T) {
	for text, want := range map[string]string{
		"a-b":         `a\-b`,
		".SH x\n'y":   `\&.SH x` + "\n" + `\&'y`,
		`C:\n`:        `C:\en`,
		"  .indented": "  .indented",
	} {
		if got := troff(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
