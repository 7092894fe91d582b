package tables

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/lab/bench/bars"
)

// The pages with tables and sentences, from the top of the repository.
const (
	readme       = "README.md"
	page         = "docs/measurements.md"
	kernelsPage  = "docs/bench/kernels.md"
	residentPage = "docs/resident.md"
	limitsPage   = "docs/bench/limits.md"

	// barsFile has the bars that limitsPage compares.
	barsFile = "docs/bench/bars.json"
)

// addLimits adds the table of bars. It fails where text does not explain a row that is missed.
func addLimits(root, text string, tables map[string]string) error {
	list, err := bars.Read(filepath.Join(root, barsFile))
	if err != nil {
		return err
	}
	t := bars.NewTable(list, logFolders(root))
	tables["limits"] = t.Markdown()
	return explained(text, t)
}

// logFolders returns the folders of logs that there are, a column each.
func logFolders(root string) (folders []string) {
	for _, name := range []string{"h200", "h100", "llvmpipe"} {
		folder := filepath.Join(root, "docs", "logs", name)
		if _, err := os.Stat(folder); err == nil {
			folders = append(folders, folder)
		}
	}
	return folders
}

// explained returns an error with the rows that are missed on a machine and have no
// paragraph, which begins with their name and links to a page or a log that shows why.
func explained(text string, t *bars.Table) error {
	var lost []string
	for _, r := range t.Rows {
		missed := slices.ContainsFunc(r.Cells, func(c bars.Cell) bool { return c.Verdict == bars.Missed })
		_, rest, found := strings.Cut(text, "\n- **"+r.Row+"**")
		paragraph, _, _ := strings.Cut(rest, "\n- **")
		if missed && !(found && strings.Contains(paragraph, "](")) {
			lost = append(lost, r.Row)
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("%s does not say, with a link, why these are missed:\n%s", limitsPage, strings.Join(lost, "\n"))
	}
	return nil
}

// limitsClaims are the sentences of the page with figures of the driver without the library.
func limitsClaims(l *logs) []claim {
	const log = "h200/driver-calls.txt"
	word := l.number(log, `kernel writes word, flush, poll mapped +median +([0-9.]+)`)
	three := l.number(log, `ticks depth 3, word: ([0-9.]+) us`)
	most, least := l.number(log, `batches of +64, [^:]*with copies: ([0-9.]+) us`), l.number(log, `batches of 256, [^:]*with copies: ([0-9.]+) us`)
	// The first of the three runs of each.
	const jobs = "h200/driver-jobs.txt"
	alone := l.number(jobs, `one thread, one at a time +([0-9.]+) us`)
	handed := l.number(jobs, `hand-over, one at a time +([0-9.]+) us`)
	bare := l.number(jobs, `dispatch, fence, wait +([0-9.]+) us`)
	recording := l.number(jobs, `batches of 64 .* ([0-9.]+) us of CPU time`)
	paced := l.number(jobs, `1 ms, three at a time .* ([0-9.]+)% of a core`)
	const floors = "h200/floors.txt"
	small, row := l.number(floors, `gemm:16x900x27 +([0-9.]+) us .*reading input`), l.number(floors, `gemm:1x4096x4096 +([0-9.]+) us .*reading input`)
	registers := l.number(floors, `gemm:8192x8192x8192 .* ([0-9.]+) TFLOP/s .*multiply-adds`)
	return []claim{
		newClaim(limitsPage, "a dispatch with its fence %.1f us, a job %.1f us, and where a second thread hands it over %.1f us", bare, alone, handed),
		newClaim(limitsPage, "a thread that only records and polls takes %.2f us of CPU time a job", recording),
		newClaim(limitsPage, "in C the same calls and sleeps of two threads take %.1f%%", paced),
		newClaim(limitsPage, "reading the inputs alone takes %.1f us for 16x900x27 and %.1f us for 1x4096x4096", small, row),
		newClaim(limitsPage, "multiply-adds in registers reach %.1f TFLOP/s", registers),
		newClaim(limitsPage, "and the host that polls it, take %.1f us without the library", word),
		newClaim(limitsPage, "a kernel that only writes one word takes %.1f us", three),
		newClaim(limitsPage, "the kernel take %.1f to %.1f us each in large batches", least, most),
	}
}
