package jobs

import (
	"encoding/binary"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// coverage is how much of every result is checked.
type coverage int

const (
	checkSome coverage = iota // the stamps
	checkAll                  // every word
)

// stampStride is the distance, in words, of the stamps: the words of an input that are
// different for every job. The last word is one too.
const stampStride = 1 << 14

// place is one of the jobs that are pending at the same time. Small jobs are copied in
// and out, large ones are written and read where they are mapped.
type place struct {
	number  uint32 // of the job
	check   coverage
	does    affine
	wrong   *int     // counts jobs with a wrong result; shared
	in, out []uint32 // of a small job
	job     job.Job
	pending executor.Pending
	busy    bool           // pending is in use
	begun   map[*byte]bool // mapped memory that holds a whole input; shared
}

// word returns word i of the input of a job.
func word(number uint32, i int) uint32 { return number*2654435761 + uint32(i)*40503 }

// prepare gives a place its job. One that is mapped is written and read in the slot.
func (r *run) prepare(p *place, bytes int, rounds uint32, mapped bool) {
	words := bytes / 4
	p.does = r.affine(rounds)
	p.job = job.Job{Dispatch: job.Dispatch{
		Program:  r.kernel,
		Groups:   [3]uint32{groupsFor(words, kernelLocal), 1, 1},
		Uniforms: []job.Uniform{job.Uint("rounds", rounds)},
	}}
	if mapped {
		p.job.Inputs = []job.Input{{Binding: 0, Size: bytes, Fill: p.fill}}
		p.job.Outputs = []job.Output{{Binding: 1, Dirty: true, Size: bytes, Read: p.read}}
		return
	}
	p.in, p.out = make([]uint32, words), make([]uint32, words)
	p.job.Inputs = []job.Input{{Binding: 0, Data: glctx.Bytes(p.in)}}
	p.job.Outputs = []job.Output{{Binding: 1, Dirty: true, To: glctx.Bytes(p.out)}}
}

// begin gives the place the next job.
func (p *place) begin(number uint32) {
	p.number = number
	if p.in == nil {
		return // fill does it
	}
	step := p.checkStep()
	for i := 0; i < len(p.in); i += step {
		p.in[i] = word(number, i)
	}
	last := len(p.in) - 1
	p.in[last] = word(number, last)
}

// fill writes the input of a large job: all of it where the memory holds no input yet
// or all is checked, else the stamps.
func (p *place) fill(dst []byte) {
	words, step := len(dst)/4, stampStride
	if p.check == checkAll || !p.begun[&dst[0]] {
		p.begun[&dst[0]] = true
		step = 1
	}
	for i := 0; i < words; i += step {
		binary.NativeEndian.PutUint32(dst[4*i:], word(p.number, i))
	}
	binary.NativeEndian.PutUint32(dst[4*words-4:], word(p.number, words-1))
}

// read checks the output of a large job.
func (p *place) read(src []byte) {
	words, step := len(src)/4, p.checkStep()
	right := p.right(words-1, binary.NativeEndian.Uint32(src[4*words-4:]))
	for i := 0; i < words && right; i += step {
		right = p.right(i, binary.NativeEndian.Uint32(src[4*i:]))
	}
	p.count(right)
}

// verify checks the output of a small job.
func (p *place) verify() {
	if p.out == nil {
		return // read did it
	}
	last, step := len(p.out)-1, p.checkStep()
	right := p.right(last, p.out[last])
	for i := 0; i < last && right; i += step {
		right = p.right(i, p.out[i])
	}
	p.count(right)
}

// checkStep returns the distance of the words to check.
func (p *place) checkStep() int {
	if p.check == checkAll {
		return 1
	}
	return stampStride
}

func (p *place) right(i int, got uint32) bool { return got == p.does.a*word(p.number, i)+p.does.c }

// count counts a wrong job.
func (p *place) count(right bool) {
	if !right {
		*p.wrong++
	}
}
