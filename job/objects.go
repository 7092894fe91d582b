package job

import (
	"fmt"
	"slices"
)

// Objects has what a device knows of buffers and textures. An error says of one that jobs of the
// device cannot bind it; ErrInvalid itself, that it is of another device.
type Objects interface {
	// Buffer gets a buffer, and whether a job may write it. It may replace it.
	Buffer(b *Bindable, written bool) error

	// Texture gets a texture, and may replace it.
	Texture(t *Texture) error
}

// Resolve calls o for each buffer and each texture that a job binds. It returns the first error,
// with the place where the object is bound.
func (j *Job) Resolve(o Objects) error {
	for i := range j.Count() {
		if err := j.At(i).resolve(o); err != nil {
			return err
		}
	}
	for i := range j.Counters {
		if c := &j.Counters[i]; c.Buffer != nil {
			if err := o.Buffer(&c.Buffer, true); err != nil {
				return boundError(err, "buffer of the counters at binding", c.Binding)
			}
		}
	}
	for i := range j.TextureInputs {
		in := &j.TextureInputs[i]
		if err := resolveTexels(o, &in.Texture, &in.Buffer, false); err != nil {
			return boundError(err, "texture input", i)
		}
	}
	for i := range j.TextureOutputs {
		out := &j.TextureOutputs[i]
		if err := resolveTexels(o, &out.Texture, &out.Buffer, true); err != nil {
			return boundError(err, "texture output", i)
		}
	}
	return nil
}

// resolveTexels resolves a texture, and the buffer that its texels are copied from or, written, to.
func resolveTexels(o Objects, t *Texture, b *Bindable, written bool) error {
	if err := o.Texture(t); err != nil || *b == nil {
		return err
	}
	return o.Buffer(b, written)
}

// Clone returns a job whose dispatches and objects may be replaced: bytes, programs, inputs,
// outputs and uniforms are those of j.
func (j *Job) Clone() *Job {
	to := *j
	to.Then, to.Counters = slices.Clone(j.Then), slices.Clone(j.Counters)
	to.TextureInputs, to.TextureOutputs = slices.Clone(j.TextureInputs), slices.Clone(j.TextureOutputs)
	for i := range to.Count() {
		d := to.At(i)
		d.Buffers, d.Blocks = slices.Clone(d.Buffers), slices.Clone(d.Blocks)
		d.Images, d.Textures = slices.Clone(d.Images), slices.Clone(d.Textures)
		if d.Indirect != nil {
			indirect := *d.Indirect
			d.Indirect = &indirect
		}
	}
	return &to
}

func (d *Dispatch) resolve(o Objects) error {
	for i := range d.Buffers {
		b := &d.Buffers[i]
		if err := o.Buffer(&b.Buffer, !b.ReadOnly); err != nil {
			return boundError(err, "buffer at binding", b.Binding)
		}
	}
	for i := range d.Blocks {
		if b := &d.Blocks[i]; b.Buffer != nil {
			if err := o.Buffer(&b.Buffer, false); err != nil {
				return boundError(err, "buffer of the uniform block at binding", b.Binding)
			}
		}
	}
	if d.Indirect != nil {
		if err := o.Buffer(&d.Indirect.Buffer, false); err != nil {
			return boundError(err, "buffer of indirect work groups from byte", d.Indirect.Offset)
		}
	}
	for i := range d.Images {
		if err := o.Texture(&d.Images[i].Texture); err != nil {
			return boundError(err, "texture of image", i)
		}
	}
	for i := range d.Textures {
		if err := o.Texture(&d.Textures[i].Texture); err != nil {
			return boundError(err, "texture of sampler", i)
		}
	}
	return nil
}

// boundError returns the error of an object that is bound at a place.
func boundError[N int | uint32](err error, at string, n N) error {
	if err == ErrInvalid {
		return fmt.Errorf("%w: the %s %d is not of this device", ErrInvalid, at, n)
	}
	return fmt.Errorf("%s %d: %w", at, n, err)
}
