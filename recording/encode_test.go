package recording

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// encode returns the log of a process, without what it could not read.
func (p *Process) encode() []byte {
	var b bytes.Buffer
	line := func(kind string, at time.Duration, fields ...any) {
		fmt.Fprintf(&b, "%s\t%d", kind, int64(at))
		for _, f := range fields {
			fmt.Fprintf(&b, "\t%s", oneField.Replace(fmt.Sprint(f)))
		}
		b.WriteByte('\n')
	}
	line("process", 0, processVersion, p.Executable, p.Start.UnixNano())
	for _, c := range p.Contexts {
		line("context", c.At, uint32(c.Context.API), c.Context.Major, c.Context.Minor, c.Context.Profile, c.Context.Flags, c.Vendor, c.Renderer, c.Version)
	}
	for _, l := range p.Links {
		line("link", l.At, l.Program, int64(l.Took))
	}
	for _, f := range p.Failed {
		line("failed", f.At, f.Program)
	}
	for _, u := range p.Uses {
		line("use", u.At, u.Program)
	}
	for _, l := range p.Binaries {
		line("binary", l.At, l.Format, l.Bytes)
	}
	for _, l := range p.Lost {
		line("lost", l.At, l.Reason)
	}
	return b.Bytes()
}

// oneField replaces what separates fields and lines.
var oneField = strings.NewReplacer("\t", " ", "\n", " ")

// addProcess writes the log of a process under its name.
func (r *Recording) addProcess(p *Process) error {
	_, err := r.addLog(p.Name, p.encode())
	return err
}
