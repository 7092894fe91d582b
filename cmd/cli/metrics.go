package cli

import (
	"bytes"
	"fmt"
	"strconv"
)

// Metrics collects figures in Prometheus's text format. All names begin with Prefix.
type Metrics struct {
	bytes.Buffer
	Prefix string
}

// Add adds a metric with one value. kind is "gauge" or "counter".
func (m *Metrics) Add(name, kind, help string, value float64) {
	m.Begin(name, kind, help)
	m.Sample(name, value)
}

// Begin adds the header of a metric whose samples have labels.
func (m *Metrics) Begin(name, kind, help string) {
	fmt.Fprintf(m, "# HELP %[1]s%[2]s %[3]s\n# TYPE %[1]s%[2]s %[4]s\n", m.Prefix, name, help, kind)
}

// Sample adds a value with labels, which are pairs of a name and a value.
func (m *Metrics) Sample(name string, value float64, labels ...string) {
	fmt.Fprint(m, m.Prefix, name)
	separator := "{"
	for i := 0; i+1 < len(labels); i += 2 {
		fmt.Fprintf(m, "%s%s=%q", separator, labels[i], labels[i+1])
		separator = ","
	}
	if len(labels) > 0 {
		fmt.Fprint(m, "}")
	}
	// Without an exponent, for people who read the file.
	fmt.Fprintf(m, " %s\n", strconv.FormatFloat(value, 'f', -1, 64))
}
