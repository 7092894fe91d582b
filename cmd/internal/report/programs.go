package report

import (
	"cmp"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/trace"
)

// Use is how a program was asked for, and when compared with its preload.
type Use string

// The uses.
const (
	Resident Use = "in time"         // it was resident before the first Get
	Late     Use = "late"            // a Get came while a preload made it, and waited
	Asked    Use = "never preloaded" // a Get made it, and waited
	Unused   Use = "never used"      // it was preloaded, and no Get came
	Filled   Use = "filled"          // a command made it for the cache directory
)

// Program is what a process did for one program.
type Program struct {
	Name          string  `json:"name"`
	Key           string  `json:"key,omitempty"`
	Use           Use     `json:"use"`    // in time, late, never preloaded, never used or filled
	Origin        string  `json:"origin"` // compiled, disk or memory
	Upstream      bool    `json:"upstream,omitempty"`
	AskedMillis   float64 `json:"asked_ms,omitempty"`   // when the first Get came, 0: there was none
	BeginMillis   float64 `json:"begin_ms"`             // when the work on it began
	ReadyMillis   float64 `json:"ready_ms,omitempty"`   // when it was resident, 0: it never was
	WaitedMillis  float64 `json:"waited_ms,omitempty"`  // that Gets waited for it
	ReadMillis    float64 `json:"read_ms,omitempty"`    // to read, check and decompress its binary
	LoadMillis    float64 `json:"load_ms,omitempty"`    // glProgramBinary, its checks and the prime
	CompileMillis float64 `json:"compile_ms,omitempty"` // compile and link
	PrimeMillis   float64 `json:"prime_ms,omitempty"`   // machine code, of a program that was compiled
	Bytes         int64   `json:"bytes,omitempty"`      // of its binary
	Others        int     `json:"others,omitempty"`     // programs of the same name in the directory, with other sources; counted of those that were compiled
	Error         string  `json:"error,omitempty"`
}

// MadeMillis returns how long making the program took.
func (p Program) MadeMillis() float64 {
	return p.ReadMillis + p.LoadMillis + p.CompileMillis + p.PrimeMillis
}

// programs returns what the events say of each program.
func programs(r trace.Recording) []Program {
	var all []*collected
	known := map[string]*collected{} // by key
	for _, e := range r.Events {
		if e.Program == "" || e.Key == "" {
			continue
		}
		p := known[e.Key]
		if p == nil {
			p = &collected{Program: Program{Name: e.Program, Key: e.Key}, began: r.Began}
			p.BeginMillis = p.at(e.Begin)
			known[e.Key], all = p, append(all, p)
		}
		p.add(e)
	}
	list := make([]Program, len(all))
	for i, p := range all {
		list[i] = p.finish()
	}
	return list
}

// collected is a program of which not all events are known yet.
type collected struct {
	Program
	began        time.Time // of the process
	used, unused bool
	made         bool    // by a Get
	joined       bool    // a Get waited for what something else made
	inDriver     float64 // milliseconds of the GL thread, without the wait for it
}

func (p *collected) add(e trace.Event) {
	switch e.Name {
	case trace.Get:
		p.addGet(e)
	case trace.Load:
		if e.Attr("outcome") == "loaded" {
			p.Origin, _ = e.Attr("origin").(string)
			p.LoadMillis += cli.Milliseconds(e.Took)
			p.ready(p.at(e.End()))
		}
	case trace.ReadBlob:
		p.addRead(e)
	case trace.ProgramBinary:
		p.inDriver += cli.Milliseconds(e.Took)
	case trace.Compile:
		p.Origin = "compiled"
		p.PrimeMillis += number(e.Attr("prime_ns")) / 1e6
		p.CompileMillis += number(e.Attr("compile_ns")) / 1e6
		p.ready(p.at(e.End()))
	case trace.FirstUse:
		p.used = true
		p.AskedMillis = cmp.Or(p.AskedMillis, p.at(e.Begin))
	case trace.Unused:
		p.unused = true
	}
}

func (p *collected) addGet(e trace.Event) {
	p.AskedMillis = cmp.Or(p.AskedMillis, p.at(e.Begin))
	p.WaitedMillis += cli.Milliseconds(e.Took)
	switch origin, _ := e.Attr("origin").(string); origin {
	case "resident":
		p.joined = true
	case "":
		p.made = true
		p.Error, _ = e.Attr("error").(string)
	default:
		p.made, p.Origin = true, origin
		p.ready(p.at(e.End()))
	}
}

// addRead adds the reading of a binary, which lies within the load of its program and
// comes after it in the order of events.
func (p *collected) addRead(e trace.Event) {
	if e.Attr("origin") == "none" {
		return
	}
	p.ReadMillis += cli.Milliseconds(e.Took)
	p.LoadMillis = max(0, p.LoadMillis-cli.Milliseconds(e.Took))
	p.Bytes = int64(number(e.Attr("bytes")))
	p.Upstream, _ = e.Attr("upstream").(bool)
}

func (p *collected) ready(at float64) {
	p.ReadyMillis = cmp.Or(p.ReadyMillis, at)
}

func (p *collected) finish() Program {
	if p.inDriver > 0 {
		p.LoadMillis = p.inDriver
	}
	switch {
	case p.unused:
		p.Use = Unused
	case p.made:
		p.Use = Asked
	case p.joined:
		p.Use = Late
	case p.used:
		p.Use = Resident
	default:
		p.Use = Filled
	}
	return p.Program
}

func (p *collected) at(t time.Time) float64 { return cli.Milliseconds(t.Sub(p.began)) }

// number returns a value that is a number, else 0.
func number(value any) float64 {
	switch n := value.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}
