package cli

import "testing"

func TestMetrics(t *testing.T) {
	m := Metrics{Prefix: "tool_"}
	m.Add("hits_total", "counter", "Hits.", 1e21)
	m.Begin("programs", "gauge", "Programs.")
	m.Sample("programs", 2, "driver", `a "b"`, "digest", "c")
	const want = `# HELP tool_hits_total Hits.
# TYPE tool_hits_total counter
tool_hits_total 1000000000000000000000
# HELP tool_programs Programs.
# TYPE tool_programs gauge
tool_programs{driver="a \"b\"",digest="c"} 2
`
	if m.String() != want {
		t.Errorf("got\n%s", m.String())
	}
}
