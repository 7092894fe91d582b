package wire

import (
	"encoding/binary"

	"github.com/shadercache/shadercache/internal/raw"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
)

// What few jobs and dispatches have: a bit for each says whether it follows. A list of them has
// one element at least.
const (
	hasGroupSize = 1 << iota // of a dispatch
	hasIndirect
	hasBlocks
	hasImages
	hasTextures
	allOfDispatch = 1<<iota - 1
)

const (
	hasTextureInputs = 1 << iota // of a job
	hasTextureOutputs
	hasCounters
	allOfJob = 1<<iota - 1
)

// bit returns the bit of what a message has.
func bit(has bool, bit byte) byte {
	if has {
		return bit
	}
	return 0
}

// moreOf reads or writes what follows the buffers of a dispatch.
func (f *fields) moreOf(d *job.Dispatch) {
	has := bit(d.GroupSize != [3]uint32{}, hasGroupSize) | bit(d.Indirect != nil, hasIndirect) | bit(len(d.Blocks) > 0, hasBlocks) |
		bit(len(d.Images) > 0, hasImages) | bit(len(d.Textures) > 0, hasTextures)
	if small(f, &has); has > allOfDispatch {
		f.fail("bits %#x of a dispatch", has)
	}
	if has&hasGroupSize != 0 {
		for i := range d.GroupSize {
			word(f, &d.GroupSize[i])
		}
		if d.GroupSize == [3]uint32{} {
			f.fail("a size of work groups of 0")
		}
	}
	if has&hasIndirect != 0 {
		if d.Indirect == nil {
			d.Indirect = new(job.Indirect)
		}
		object(f, Objects.Buffer, &d.Indirect.Buffer)
		long(f, &d.Indirect.Offset)
	}
	optional(f, has&hasBlocks, &d.Blocks, 9, (*fields).block)
	optional(f, has&hasImages, &d.Images, 20, (*fields).image)
	optional(f, has&hasTextures, &d.Textures, 17, (*fields).sampled)
}

// optional reads or writes a list, where its bit is not 0.
func optional[T any](f *fields, has uint8, list *[]T, least int, each func(*fields, *T)) {
	if has == 0 {
		return
	}
	if listed(f, list, least, each); len(*list) == 0 {
		f.fail("a list without elements")
	}
}

// memory reads or writes an operand in place of which a buffer may be, from an offset on. Only with
// size it has another one than the rest.
func (f *fields) memory(o *Operand, read bool, b *job.Bindable, offset, size *int) {
	if f.writes && *b != nil {
		*o = Operand{Place: PlaceBuffer, ID: idOf(*b), Offset: uint64(*offset)}
		if size != nil {
			o.Size = uint64(*size)
		}
	}
	f.op(o, read)
	if f.writes || o.Place != PlaceBuffer {
		return
	}
	*b, *offset = find(f, Objects.Buffer, o.ID), int(o.Offset)
	if size != nil {
		*size = int(o.Size)
	} else if o.Size != 0 {
		f.fail("a size of a buffer that has the rest")
	}
}

func (f *fields) block(b *job.Block) {
	o := Operand{Place: PlaceInline, Data: b.Data}
	word(f, &b.Binding)
	f.memory(&o, true, &b.Buffer, &b.Offset, &b.Size)
	if f.writes {
		return
	}
	if b.Data = o.Data; o.Place != PlaceInline && o.Place != PlaceBuffer {
		f.fail("uniform block at binding %d is neither inline nor a buffer", b.Binding)
	}
}

func (f *fields) image(im *job.Image) {
	f.name(&im.Name)
	word(f, &im.Binding)
	object(f, Objects.Texture, &im.Texture)
	word(f, &im.Level)
	word(f, &im.Layer)
	choice(f, &im.Access, accesses)
	f.format(&im.Format)
}

func (f *fields) sampled(of *job.Sampled) {
	f.name(&of.Name)
	word(f, &of.Binding)
	object(f, Objects.Texture, &of.Texture)
	s := &of.Sampler
	for _, v := range [...]*string{&s.Min, &s.Mag, &s.Mip} {
		choice(f, v, filters)
	}
	for i := range s.Wrap {
		choice(f, &s.Wrap[i], wraps)
	}
	choice(f, &s.Compare, comparisons)
}

// more reads or writes what follows the dispatches of a job.
func (f *fields) more() {
	m := f.job
	has := bit(len(m.TextureInputs) > 0, hasTextureInputs) | bit(len(m.TextureOutputs) > 0, hasTextureOutputs) | bit(len(m.Counters) > 0, hasCounters)
	if small(f, &has); has == 0 {
		return
	}
	if has > allOfJob {
		f.fail("bits %#x of a job", has)
	}
	var n int
	optional(f, has&hasTextureInputs, &m.TextureInputs, 33, func(f *fields, in *job.TextureInput) {
		f.texels(&in.Texture, &in.Region, next(&m.TexelsIn, &n), true, &in.Buffer, &in.Offset)
	})
	n = 0
	optional(f, has&hasTextureOutputs, &m.TextureOutputs, 33, func(f *fields, out *job.TextureOutput) {
		f.texels(&out.Texture, &out.Region, next(&m.TexelsOut, &n), false, &out.Buffer, &out.Offset)
	})
	room := MaxBody / 4
	optional(f, has&hasCounters, &m.Counters, 13, func(f *fields, c *job.Counter) { f.counter(c, &room) })
}

// next returns the n-th operand, which it appends where a body is read, and adds 1 to n.
func next(list *[]Operand, n *int) *Operand {
	if *n++; len(*list) < *n {
		*list = append(*list, Operand{})
	}
	return &(*list)[*n-1]
}

func (f *fields) texels(t *job.Texture, r *texel.Region, o *Operand, read bool, b *job.Bindable, offset *int) {
	object(f, Objects.Texture, t)
	f.region(r)
	f.memory(o, read, b, offset, nil)
}

// counter reads or writes counters, of which at most room have to be in the reply.
func (f *fields) counter(c *job.Counter, room *int) {
	o := Operand{Place: PlaceInline, Data: raw.Bytes(c.Start)}
	words := len(c.To)
	word(f, &c.Binding)
	f.memory(&o, true, &c.Buffer, &c.Offset, nil)
	word(f, &words)
	switch {
	case f.writes:
		return
	case o.Place != PlaceInline && o.Place != PlaceBuffer || len(o.Data)%4 != 0:
		f.fail("counters at binding %d are neither words nor a buffer", c.Binding)
	case words < 0 || words > *room:
		f.fail("%d counters in a reply", words)
	case words > 0:
		c.To = make([]uint32, words)
		*room -= words
	}
	for at := 0; at+4 <= len(o.Data); at += 4 {
		c.Start = append(c.Start, binary.LittleEndian.Uint32(o.Data[at:]))
	}
}
