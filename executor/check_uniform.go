package executor

import (
	"fmt"
	"strings"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// bindBlock binds a uniform block to the Params or one of the Blocks of a dispatch.
func (e *Executor) bindBlock(j *Job, dispatch int, r *shader.Resource, l *layout) error {
	d := j.At(dispatch)
	b, given := bind{from: slotParams, span: l.params[dispatch]}, 0
	if d.Params != nil && d.ParamsBinding == uint32(r.Binding) {
		given++
	}
	first := 0 // of the dispatch in l.blocks
	for i := range dispatch {
		first += len(j.At(i).Blocks)
	}
	for i := range d.Blocks {
		if d.Blocks[i].Binding != uint32(r.Binding) {
			continue
		}
		given++
		var err error
		if b, err = e.blockRange(&d.Blocks[i], l.blocks[first+i]); err != nil {
			return fmt.Errorf("uniform block %s (binding %d): %w", r.Name, r.Binding, err)
		}
	}
	switch {
	case given == 0:
		return fmt.Errorf("uniform block %s (binding %d) has no Params and is not among Blocks", r.Name, r.Binding)
	case given > 1:
		return fmt.Errorf("uniform block %s (binding %d) is bound twice", r.Name, r.Binding)
	case b.size < int(r.Bytes):
		return fmt.Errorf("uniform block %s (binding %d) needs %d bytes and is bound to %d", r.Name, r.Binding, r.Bytes, b.size)
	}
	b.size = min(b.size, int(max(e.info.MaxUniform, int64(r.Bytes))))
	b.binding = uint32(r.Binding)
	l.binds = append(l.binds, b)
	return nil
}

// blockRange checks a block and returns what it is bound to.
func (e *Executor) blockRange(block *job.Block, place span) (bind, error) {
	if block.Buffer == nil {
		return bind{from: slotParams, span: place}, nil
	}
	if block.Data != nil {
		return bind{}, fmt.Errorf("has both Data and Memory")
	}
	bound := Bound{Buffer: block.Buffer, Offset: block.Offset, Size: block.Size}
	if err := e.checkRange(&bound, e.info.UniformAlignment); err != nil {
		return bind{}, err
	}
	return bind{from: deviceBlock, readOnly: true, memory: memoryOf(block.Buffer), span: span{block.Offset, bound.Len()}}, nil
}

// setUniform adds the value of a uniform.
func (l *layout) setUniform(d *Dispatch, h *cache.Handle, r *shader.Resource) error {
	if r.Type.Bytes() == 0 {
		return fmt.Errorf("uniform %s is of %s, which cannot be set: put it into a uniform block", r.Name, r.Type)
	}
	for i := range d.Uniforms {
		u := &d.Uniforms[i]
		if !isNamed(u.Name, r) {
			continue
		}
		if err := checkUniform(u, r); err != nil {
			return err
		}
		l.values = append(l.values, value{r.Binding, r.Type, span{len(l.words), u.Bytes()}})
		l.words = u.AppendTo(l.words)
		return nil
	}
	return fmt.Errorf("uniform %s is not set; it is of type %s%s", r.Name, r.Type, unknownUniforms(d, h))
}

// checkUniform returns an error where the value is not one of the uniform's type. A driver may
// report an array as shorter than it is declared: elements that are too many are ignored.
func checkUniform(u *job.Uniform, r *shader.Resource) error {
	size, elements := r.Type.Bytes(), max(1, int(r.Bytes))
	if !u.Fits(r.Type) {
		return fmt.Errorf("uniform %s is of type %s and was given %s components", r.Name, r.Type, u.Base())
	}
	n := u.Bytes()
	if isArray := strings.HasSuffix(r.Name, "[0]"); n%size == 0 && n >= elements*size && (isArray || n == size) {
		return nil
	}
	component := size / r.Type.Components()
	return fmt.Errorf("uniform %s has %d elements of type %s, %d components, and was given %d",
		r.Name, elements, r.Type, elements*r.Type.Components(), n/component)
}

// unknownUniforms returns text that lists the given uniforms which the program does
// not have: a uniform that is not set may be among them under a wrong name.
func unknownUniforms(d *Dispatch, h *cache.Handle) string {
	var unknown []string
	for _, u := range d.Uniforms {
		known := false
		for _, r := range h.Interface().Resources {
			known = known || r.Kind == shader.Uniform && isNamed(u.Name, &r)
		}
		if !known {
			unknown = append(unknown, u.Name)
		}
	}
	return noneOf(unknown)
}

// noneOf returns text that lists names which the program does not have, "" for none.
func noneOf(names []string) string {
	if names == nil {
		return ""
	}
	return "; the program has none of the name " + strings.Join(names, ", ")
}
