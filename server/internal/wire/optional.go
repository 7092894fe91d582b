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

// appendMore appends what follows the buffers of a dispatch.
func appendMore(b []byte, d *job.Dispatch) []byte {
	has := bit(d.GroupSize != [3]uint32{}, hasGroupSize) | bit(d.Indirect != nil, hasIndirect) | bit(len(d.Blocks) > 0, hasBlocks) |
		bit(len(d.Images) > 0, hasImages) | bit(len(d.Textures) > 0, hasTextures)
	if b = append(b, has); has == 0 {
		return b
	}
	if has&hasGroupSize != 0 {
		for _, n := range d.GroupSize {
			b = appendU32(b, n)
		}
	}
	if d.Indirect != nil {
		b = appendU64(appendU32(b, idOf(d.Indirect.Buffer)), uint64(d.Indirect.Offset))
	}
	b = appendList(b, d.Blocks, appendBlock)
	b = appendList(b, d.Images, appendImage)
	return appendList(b, d.Textures, appendSampled)
}

// appendList appends a list, and nothing for one without elements.
func appendList[T any](b []byte, list []T, each func([]byte, *T) []byte) []byte {
	if len(list) > 0 {
		b = appendU16(b, uint16(len(list)))
	}
	for i := range list {
		b = each(b, &list[i])
	}
	return b
}

func appendBlock(b []byte, block *job.Block) []byte {
	b = appendU32(b, block.Binding)
	if block.Buffer != nil {
		return appendRange(b, block.Buffer, block.Offset, block.Size)
	}
	operand := Operand{Place: PlaceInline, Data: block.Data}
	return operand.append(b, true)
}

func appendImage(b []byte, im *job.Image) []byte {
	b = appendU32(appendU32(appendText(b, im.Name), im.Binding), idOf(im.Texture))
	b = appendU32(appendU32(b, uint32(im.Level)), uint32(im.Layer))
	return append(b, byte(im.Access), byte(im.Format))
}

func appendSampled(b []byte, of *job.Sampled) []byte {
	b = appendU32(appendU32(appendText(b, of.Name), of.Binding), idOf(of.Texture))
	s := &of.Sampler
	return append(b, byte(s.Min), byte(s.Mag), byte(s.Mip), byte(s.Wrap[0]), byte(s.Wrap[1]), byte(s.Wrap[2]), byte(s.Compare))
}

// moreOf reads what follows the buffers of a dispatch.
func (f *jobFields) moreOf(d *job.Dispatch, has uint8) {
	if has > allOfDispatch {
		f.fail("bits %#x of a dispatch", has)
	}
	if has&hasGroupSize != 0 {
		for i := range d.GroupSize {
			d.GroupSize[i] = f.u32()
		}
		if d.GroupSize == [3]uint32{} {
			f.fail("a size of work groups of 0")
		}
	}
	if has&hasIndirect != 0 {
		id := f.u32()
		d.Indirect = &job.Indirect{Buffer: find(f, Objects.Buffer, id), Offset: int(f.u64())}
	}
	d.Blocks = list(f, has&hasBlocks, 9, f.block)
	d.Images = list(f, has&hasImages, 20, f.image)
	d.Textures = list(f, has&hasTextures, 17, f.sampled)
}

// list reads a list, where its bit is not 0, of elements of at least least bytes each.
func list[T any](f *jobFields, has uint8, least int, each func() T) (all []T) {
	if has == 0 {
		return nil
	}
	n := f.count(least)
	if n == 0 {
		f.fail("a list without elements")
	}
	for range n {
		all = append(all, each())
	}
	return all
}

func (f *jobFields) block() (b job.Block) {
	var o Operand
	b.Binding = f.u32()
	switch f.operand(&o, true); o.Place {
	case PlaceInline:
		b.Data = o.Data
	case PlaceBuffer:
		b.Buffer, b.Offset = f.bufferOf(&o)
		b.Size = int(o.Size)
	default:
		f.fail("uniform block at binding %d is neither inline nor a buffer", b.Binding)
	}
	return b
}

func (f *jobFields) image() (im job.Image) {
	im.Name, im.Binding = f.name(), f.u32()
	id := f.u32()
	im.Texture = find(f, Objects.Texture, id)
	im.Level, im.Layer = int(int32(f.u32())), int(int32(f.u32()))
	im.Access, im.Format = texel.Access(f.u8()), texel.Format(f.u8())
	return im
}

func (f *jobFields) sampled() (of job.Sampled) {
	of.Name, of.Binding = f.name(), f.u32()
	id := f.u32()
	of.Texture = find(f, Objects.Texture, id)
	s := &of.Sampler
	s.Min, s.Mag, s.Mip = texel.Filter(f.u8()), texel.Filter(f.u8()), texel.Filter(f.u8())
	for i := range s.Wrap {
		s.Wrap[i] = texel.Wrap(f.u8())
	}
	s.Compare = texel.Compare(f.u8())
	return of
}

// appendMore appends what follows the dispatches of a job.
func (m *Job) appendMore(b []byte) []byte {
	has := bit(len(m.TextureInputs) > 0, hasTextureInputs) | bit(len(m.TextureOutputs) > 0, hasTextureOutputs) | bit(len(m.Counters) > 0, hasCounters)
	if b = append(b, has); has == 0 {
		return b
	}
	at := 0
	b = appendList(b, m.TextureInputs, func(b []byte, in *job.TextureInput) []byte {
		at++
		return m.TexelsIn[at-1].append(appendRegion(appendU32(b, idOf(in.Texture)), in.Region), true)
	})
	at = 0
	b = appendList(b, m.TextureOutputs, func(b []byte, out *job.TextureOutput) []byte {
		at++
		return m.TexelsOut[at-1].append(appendRegion(appendU32(b, idOf(out.Texture)), out.Region), false)
	})
	return appendList(b, m.Counters, appendCounter)
}

func appendRegion(b []byte, r texel.Region) []byte {
	for _, n := range [...]int{r.Level, r.X, r.Y, r.Z, r.Width, r.Height, r.Depth} {
		b = appendU32(b, uint32(n))
	}
	return b
}

func (f *fields) region() (r texel.Region) {
	for _, n := range [...]*int{&r.Level, &r.X, &r.Y, &r.Z, &r.Width, &r.Height, &r.Depth} {
		*n = int(int32(f.u32()))
	}
	return r
}

func appendCounter(b []byte, c *job.Counter) []byte {
	b = appendU32(b, c.Binding)
	if c.Buffer != nil {
		b = appendRange(b, c.Buffer, c.Offset, 0)
	} else {
		operand := Operand{Place: PlaceInline, Data: raw.Bytes(c.Start)}
		b = operand.append(b, true)
	}
	return appendU32(b, uint32(len(c.To)))
}

// more reads what follows the dispatches of a job.
func (f *jobFields) more(has uint8) {
	if has > allOfJob {
		f.fail("bits %#x of a job", has)
	}
	m := f.job
	m.TextureInputs = list(f, has&hasTextureInputs, 33, func() (in job.TextureInput) {
		in.Texture, in.Region = f.texture(), f.region()
		var o Operand
		f.operand(&o, true)
		in.Buffer, in.Offset = f.bufferOf(&o)
		m.TexelsIn = append(m.TexelsIn, o)
		return in
	})
	m.TextureOutputs = list(f, has&hasTextureOutputs, 33, func() (out job.TextureOutput) {
		out.Texture, out.Region = f.texture(), f.region()
		var o Operand
		f.operand(&o, false)
		out.Buffer, out.Offset = f.bufferOf(&o)
		m.TexelsOut = append(m.TexelsOut, o)
		return out
	})
	room := MaxBody / 4
	m.Counters = list(f, has&hasCounters, 13, func() job.Counter { return f.counter(&room) })
}

// bufferOf returns the buffer of an operand, or nil where it is none.
func (f *jobFields) bufferOf(o *Operand) (job.Bindable, int) {
	if o.Place != PlaceBuffer {
		return nil, 0
	}
	return find(f, Objects.Buffer, o.ID), int(o.Offset)
}

func (f *jobFields) texture() job.Texture {
	id := f.u32()
	return find(f, Objects.Texture, id)
}

// counter reads counters of which at most room have to be in the reply.
func (f *jobFields) counter(room *int) (c job.Counter) {
	var o Operand
	c.Binding = f.u32()
	switch f.operand(&o, true); {
	case o.Place == PlaceInline && len(o.Data)%4 == 0:
		for at := 0; at < len(o.Data); at += 4 {
			c.Start = append(c.Start, binary.LittleEndian.Uint32(o.Data[at:]))
		}
	case o.Place == PlaceBuffer && o.Size == 0:
		c.Buffer, c.Offset = f.bufferOf(&o)
	default:
		f.fail("counters at binding %d are neither words nor the rest of a buffer", c.Binding)
	}
	if n := int(f.u32()); n < 0 || n > *room {
		f.fail("%d counters in a reply", n)
	} else if n > 0 {
		c.To = make([]uint32, n)
		*room -= n
	}
	return c
}
