package bars

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/lab/bench/gobench"
)

// Origin is where a log was made.
type Origin struct {
	Machine  string `json:"machine"`  // GPU and driver, processor and number of CPUs
	Date     string `json:"date"`     // of the begin, UTC
	Revision string `json:"revision"` // of shadercache
}

// String returns one line.
func (o Origin) String() string {
	return fmt.Sprintf("%s; %s; revision %s", o.Machine, o.Date, o.Revision)
}

// log is a file that scripts/measure wrote: its figures as JSON, and where it was made.
type log struct {
	root   any
	origin *Origin // nil: it does not say
}

// errNoLog is returned where there is no file.
var errNoLog = errors.New("there is no such log")

// gpu returns the name of the device, "" where the log does not have it.
func (l *log) gpu() string {
	fields, _ := l.root.(map[string]any)
	name, _ := fields["gpu"].(string)
	return name
}

// readLog reads a file. Texts become JSON: see textLog. One whose results were wrong is an
// error.
func readLog(path string) (*log, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errNoLog
	} else if err != nil {
		return nil, err
	}
	if filepath.Ext(path) != ".json" {
		return textLog(string(data))
	}
	return jsonLog(data)
}

// jsonLog reads a result that a benchmark printed.
func jsonLog(data []byte) (*log, error) {
	var head struct {
		GPU, Driver string
		Verified    *bool
		Origin      *struct {
			CPU, Date, Revision string
			CPUs                int
		}
	}
	l := &log{}
	if err := errors.Join(json.Unmarshal(data, &head), json.Unmarshal(data, &l.root)); err != nil {
		return nil, err
	}
	if head.Verified != nil && !*head.Verified {
		return nil, errors.New("its results were wrong, or not all of them were measured")
	}
	if o := head.Origin; o != nil {
		gpu, _, _ := strings.Cut(head.GPU, "/")
		words := strings.Fields(head.Driver)
		build := ""
		if len(words) > 0 {
			build = ", " + words[len(words)-1]
		}
		l.origin = &Origin{fmt.Sprintf("%s%s; %s, %d CPUs", gpu, build, o.CPU, o.CPUs), o.Date, o.Revision}
	}
	return l, nil
}

// textLog reads the figures of Go's benchmarks, as
//
//	{"benchmarks": [{"name": "GetResident", "ns/op": 76}]}
//
// with the median of several runs, and those of peers, a line each, as
//
//	{"gpu": "NVIDIA H200", "peers": [{"name": "CUDA with cubins", "context_ms": 196.3}]}
//
// The first line is where the log was made: see sign in scripts/measure.
func textLog(text string) (*log, error) {
	if strings.Contains(text, "WRONG") || strings.Contains(text, "\nFAIL") {
		return nil, errors.New("its results were wrong")
	}
	root, benchmarks, peers := map[string]any{}, []any{}, []any{}
	for name, figures := range gobench.Read(text) {
		benchmark := map[string]any{"name": name}
		for unit, values := range figures {
			benchmark[unit] = stats.Median(values)
		}
		benchmarks = append(benchmarks, benchmark)
	}
	first, _, _ := strings.Cut(text, "\n")
	for line := range strings.Lines(text) {
		if peer := peerLine(line); peer != nil {
			peers = append(peers, peer)
		}
	}
	root["benchmarks"], root["peers"] = benchmarks, peers
	l := &log{root: root, origin: signature(first)}
	if l.origin != nil {
		root["gpu"], _, _ = strings.Cut(l.origin.Machine, ",")
	}
	return l, nil
}

// signature returns where a text was made, of its first line; nil where it does not say.
func signature(line string) *Origin {
	parts := strings.Split(strings.TrimPrefix(strings.TrimSpace(line), "# "), "; ")
	if len(parts) < 5 {
		return nil
	}
	revision, signed := strings.CutPrefix(parts[4], "revision ")
	if !signed {
		return nil
	}
	cpu, _, _ := strings.Cut(parts[1], ", load ")
	return &Origin{parts[0] + "; " + cpu, parts[3], revision}
}

// peerFigure is a figure of a peer's line, such as "context 196.3 ms".
var peerFigure = regexp.MustCompile(`^(\S[^,]*) ([0-9.]+) (ms|us)$`)

// peerLine returns the figures of a peer's line, such as
//
//	CUDA with cubins on NVIDIA H200: 48 programs, context 196.3 ms, process 210.8 ms, verified
//
// nil for other lines.
func peerLine(line string) map[string]any {
	about, figures, found := strings.Cut(strings.TrimSpace(line), ": ")
	name, _, named := strings.Cut(about, " on ")
	if !found || !named || !strings.HasSuffix(figures, ", verified") {
		return nil
	}
	peer := map[string]any{"name": name}
	for figure := range strings.SplitSeq(figures, ", ") {
		if m := peerFigure.FindStringSubmatch(figure); m != nil {
			if v, err := strconv.ParseFloat(m[2], 64); err == nil {
				peer[strings.ReplaceAll(m[1], " ", "_")+"_"+m[3]] = v
			}
		}
	}
	return peer
}
