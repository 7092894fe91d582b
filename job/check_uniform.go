package job

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// uniformBlock checks that a uniform block has the Params or one of the Blocks of a dispatch.
func (c *Checker) uniformBlock(i int, d *Dispatch, r *shader.Resource) error {
	index, size, given := -1, len(d.Params), 0
	if d.Params != nil && d.ParamsBinding == uint32(r.Binding) {
		given++
	}
	for k := range d.Blocks {
		b := &d.Blocks[k]
		if b.Binding != uint32(r.Binding) {
			continue
		}
		given++
		index, size = k, len(b.Data)
		if b.Buffer == nil {
			continue
		}
		if err := c.checkBlock(b); err != nil {
			return fmt.Errorf("uniform block %s (binding %d): %w", r.Name, r.Binding, err)
		}
		if size = b.Size; size == 0 {
			size = b.Buffer.Size() - b.Offset
		}
	}
	switch {
	case given == 0:
		return fmt.Errorf("uniform block %s (binding %d) has no Params and is not among Blocks", r.Name, r.Binding)
	case given > 1:
		return fmt.Errorf("uniform block %s (binding %d) is bound twice", r.Name, r.Binding)
	case size < int(r.Bytes):
		return fmt.Errorf("uniform block %s (binding %d) needs %d bytes and is bound to %d", r.Name, r.Binding, r.Bytes, size)
	}
	c.use(Use{Dispatch: i, Resource: r, Binding: uint32(r.Binding), Index: index})
	return nil
}

func (c *Checker) checkBlock(b *Block) error {
	if b.Data != nil {
		return errors.New("has both Data and Buffer")
	}
	return checkPart(b.Buffer, b.Offset, b.Size, c.Limits.UniformAlignment)
}

// uniform checks that a uniform outside any block is set.
func (c *Checker) uniform(i int, d *Dispatch, r *shader.Resource, of *shader.Interface) error {
	if r.Type.Bytes() == 0 {
		return fmt.Errorf("uniform %s is of %s, which cannot be set: put it into a uniform block", r.Name, r.Type)
	}
	if r.Type.Bytes() == 8*r.Type.Components() && strings.Contains(r.Name, ".") {
		return fmt.Errorf("uniform %s is a double in a struct, which Mesa reads from another place than it sets: put it into a uniform block", r.Name)
	}
	for k := range d.Uniforms {
		u := &d.Uniforms[k]
		if !isNamed(u.Name, r) {
			continue
		}
		if err := checkUniform(u, r); err != nil {
			return err
		}
		c.use(Use{Dispatch: i, Resource: r, Index: k})
		return nil
	}
	return fmt.Errorf("uniform %s is not set; it is of type %s%s", r.Name, r.Type, unknownUniforms(d, of))
}

// isNamed reports whether a name that a caller gives is that of a resource: the name of
// an array may lack its "[0]".
func isNamed(name string, r *shader.Resource) bool {
	return name == r.Name || len(r.Name) == len(name)+len("[0]") && r.Name[:len(name)] == name && r.Name[len(name):] == "[0]"
}

// checkUniform returns an error where the value is not one of the uniform's type. A driver may
// report an array as shorter than it is declared: elements that are too many are ignored.
func checkUniform(u *Uniform, r *shader.Resource) error {
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

// mostNamed is the number of uniforms among which an error looks for unknown ones.
const mostNamed = 64

// unknownUniforms returns text that lists the given uniforms which the program does
// not have: a uniform that is not set may be among them under a wrong name.
func unknownUniforms(d *Dispatch, of *shader.Interface) string {
	var unknown []string
	for _, u := range d.Uniforms[:min(len(d.Uniforms), mostNamed)] {
		isOf := func(r shader.Resource) bool { return r.Kind == shader.Uniform && isNamed(u.Name, &r) }
		if !slices.ContainsFunc(of.Resources, isOf) {
			unknown = append(unknown, u.Name)
		}
	}
	if unknown == nil {
		return ""
	}
	return "; the program has none of the name " + strings.Join(unknown, ", ")
}

// counters checks that an atomic counter buffer is bound.
func (c *Checker) counters(i int, r *shader.Resource) error {
	found := -1
	for k := range c.Job.Counters {
		if c.Job.Counters[k].Binding != uint32(r.Binding) {
			continue
		}
		if found >= 0 {
			return fmt.Errorf("the atomic counters at binding %d are bound twice", r.Binding)
		}
		found = k
	}
	if found < 0 {
		return fmt.Errorf("the atomic counters at binding %d are not bound: Job.Counters needs a Counter there", r.Binding)
	}
	if n := &c.Job.Counters[found]; n.Buffer != nil {
		if n.Start != nil || n.To != nil {
			return fmt.Errorf("counters at binding %d: has a Buffer beside Start or To", r.Binding)
		}
		if err := checkPart(n.Buffer, n.Offset, 0, 4); err != nil {
			return fmt.Errorf("counters at binding %d: %w", r.Binding, err)
		}
		if size := n.Buffer.Size() - n.Offset; size < int(r.Bytes) {
			return fmt.Errorf("the atomic counters at binding %d need %d bytes and are bound to %d", r.Binding, r.Bytes, size)
		}
	}
	c.counted |= 1 << found
	c.use(Use{Dispatch: i, Resource: r, Binding: uint32(r.Binding), Index: found})
	return nil
}
