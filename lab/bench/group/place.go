package group

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/shadercache/shadercache"
)

// place makes jobs whose data is written and read where it is mapped. Word i of an input is
// i times wordFactor; those that are checked have the number of the job added, so that the
// result of an earlier job shows.
type place struct {
	number atomic.Uint32
	filled sync.Map // the first byte of memory that holds a whole input
}

const wordFactor = 2654435761 // the golden ratio of 2^32: neighbours differ in all bits

func (p *place) String() string {
	if p == nil {
		return "copied"
	}
	return "in place"
}

// operands returns the input and the output of the next job, all of whose words are
// checked, or some.
func (p *place) operands(s *stream, all bool) ([]shadercache.Input, []shadercache.Output) {
	number := p.number.Add(1)
	fill := func(dst []byte) { p.fill(dst, number) }
	read := func(src []byte) {
		stride := sampleStride
		if all {
			stride = 1
		}
		s.wrong.Add(int64(p.check(src, number, stride, s.expected)))
	}
	return []shadercache.Input{{Binding: 0, Fill: fill, Size: s.size}}, []shadercache.Output{{Binding: 1, Read: read, Size: s.size}}
}

// word returns word i of the input of a job.
func (p *place) word(i int, number uint32) uint32 {
	if i%sampleStride != 0 {
		number = 0
	}
	return uint32(i)*wordFactor + number
}

// fill writes an input: all of it where the memory holds none yet, else the words that
// differ.
func (p *place) fill(dst []byte, number uint32) {
	stride := sampleStride
	if _, found := p.filled.LoadOrStore(&dst[0], true); !found {
		stride = 1
	}
	for i := 0; i < len(dst)/4; i += stride {
		binary.LittleEndian.PutUint32(dst[4*i:], p.word(i, number))
	}
}

// check returns the number of wrong words of an output, of one word in stride.
func (p *place) check(src []byte, number uint32, stride int, expected func(uint32) uint32) (wrong int) {
	for i := 0; i < len(src)/4; i += stride {
		if binary.LittleEndian.Uint32(src[4*i:]) != expected(p.word(i, number)) {
			wrong++
		}
	}
	return wrong
}
