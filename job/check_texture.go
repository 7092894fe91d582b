package job

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// isElement reports whether name is that of element k of an image or sampler uniform.
func isElement(name string, r *shader.Resource, k int) bool {
	if k == 0 && isNamed(name, r) {
		return true
	}
	array, isArray := strings.CutSuffix(r.Name, "[0]")
	index, of := strings.CutPrefix(name, array)
	if !isArray || !of || len(index) < 3 || index[0] != '[' || index[len(index)-1] != ']' {
		return false
	}
	n, err := strconv.Atoi(index[1 : len(index)-1])
	return err == nil && n == k
}

// elementName returns the name of element k of a uniform for errors.
func elementName(r *shader.Resource, k int) string {
	if array, isArray := strings.CutSuffix(r.Name, "[0]"); isArray {
		return fmt.Sprintf("%s[%d]", array, k)
	}
	return r.Name
}

// boundTo is the index of what is bound to an element of a uniform, or one of these.
type boundTo int

const (
	unbound boundTo = -1 - iota
	boundTwice
)

// or returns b, and i where that is bound to element k of r, by its name or its unit.
func (b boundTo) or(i int, name string, binding uint32, r *shader.Resource, k int) boundTo {
	switch {
	case name == "" && binding != uint32(r.Unit)+uint32(k), name != "" && !isElement(name, r, k):
		return b
	case b != unbound:
		return boundTwice
	}
	return boundTo(i)
}

// check returns an error unless exactly one thing is bound. needs is the field to fill and
// what it holds.
func (b boundTo) check(kind, needs string, r *shader.Resource, k int) error {
	if b >= 0 {
		return nil
	}
	name, unit := elementName(r, k), uint32(r.Unit)+uint32(k)
	if b == unbound {
		return fmt.Errorf("%s %s (%s, unit %d) is not bound: %s with the Name %q or the Binding %d", kind, name, r.Type, unit, needs, name, unit)
	}
	return fmt.Errorf("%s %s (%s, unit %d) is bound twice", kind, name, r.Type, unit)
}

// images checks that each element of an image uniform has one of the dispatch's Images.
func (c *Checker) images(i int, d *Dispatch, r *shader.Resource) error {
	for k := range max(1, int(r.Bytes)) {
		unit, found := uint32(r.Unit)+uint32(k), unbound
		for n := range d.Images {
			found = found.or(n, d.Images[n].Name, d.Images[n].Binding, r, k)
		}
		if err := found.check("image", "Dispatch.Images needs an Image", r, k); err != nil {
			return err
		}
		if err := checkImage(&d.Images[found], r); err != nil {
			return fmt.Errorf("image %s (%s, unit %d): %w", elementName(r, k), r.Type, unit, err)
		}
		c.use(Use{Dispatch: i, Resource: r, Binding: unit, Index: int(found)})
	}
	return nil
}

// checkImage checks an image against the uniform that it is for.
func checkImage(im *Image, r *shader.Resource) error {
	if im.Texture == nil {
		return errors.New("there is no texture")
	}
	shape := im.Texture.Shape()
	if im.Level < 0 || im.Level >= shape.Levels {
		return fmt.Errorf("level %d of a texture with %d", im.Level, shape.Levels)
	}
	if im.Access != "" && im.Access != "readonly" && im.Access != "writeonly" {
		return fmt.Errorf("there is no access %q", im.Access)
	}
	_, _, depth := shape.LevelSize(im.Level)
	switch {
	case r.Type.Dim() == shape.Dim:
		if im.Layer != 0 {
			return fmt.Errorf("layer %d: the image has all layers of the %s texture", im.Layer, shape.Dim)
		}
	case !isLayerOf(r.Type.Dim(), shape.Dim):
		return fmt.Errorf("the texture is %s", shape.Dim)
	case im.Layer < 0 || im.Layer >= depth:
		return fmt.Errorf("layer %d of %d", im.Layer, depth)
	}
	return checkImageFormat(im, shape.Format, r)
}

// isLayerOf reports whether an image of a shape can be one layer of a texture.
func isLayerOf(image, texture string) bool {
	switch texture {
	case "3D", "Cube", "2DArray", "CubeArray":
		return image == "2D"
	case "1DArray":
		return image == "1D"
	}
	return false
}

// checkImageFormat checks the format of an image of a texture: with another one than the
// declared, GL computes anything.
func checkImageFormat(im *Image, of texel.Format, r *shader.Resource) error {
	f := im.TexelFormat()
	if !f.Known() || f.Sampled() {
		return fmt.Errorf("%s is not a format of images", f)
	}
	if declared := texel.Format(r.Format); declared.Known() && declared != f {
		hint := ""
		if of == f && im.Texture.Aliases(declared) {
			hint = "; Image.Format can read its bits as " + r.Format
		}
		return fmt.Errorf("the program declares %s and the image is %s%s", r.Format, f, hint)
	}
	if f.Base() != r.Type.Base() {
		return fmt.Errorf("the format %s is one of %s", f, f.Base())
	}
	if !im.Texture.Aliases(f) {
		return fmt.Errorf("texels of %s cannot be read as %s", of, f)
	}
	return nil
}

// textures checks that each element of a sampler uniform has one of the dispatch's Textures.
func (c *Checker) textures(i int, d *Dispatch, r *shader.Resource) error {
	for k := range max(1, int(r.Bytes)) {
		unit, found := uint32(r.Unit)+uint32(k), unbound
		for n := range d.Textures {
			found = found.or(n, d.Textures[n].Name, d.Textures[n].Binding, r, k)
		}
		if err := found.check("sampler", "Dispatch.Textures needs a Sampled", r, k); err != nil {
			return err
		}
		if err := checkSampled(&d.Textures[found], r); err != nil {
			return fmt.Errorf("sampler %s (%s, unit %d): %w", elementName(r, k), r.Type, unit, err)
		}
		c.use(Use{Dispatch: i, Resource: r, Binding: unit, Index: int(found)})
	}
	return nil
}

// checkSampled checks a texture and its sampler against the uniform that they are for.
func checkSampled(s *Sampled, r *shader.Resource) error {
	if s.Texture == nil {
		return errors.New("there is no texture")
	}
	if err := s.Sampler.Check(); err != nil {
		return err
	}
	t, compares := s.Texture.Shape(), s.Sampler.Compare != ""
	switch {
	case t.Dim != r.Type.Dim():
		return fmt.Errorf("the texture is %s", t.Dim)
	case t.Format.Base() != r.Type.Base():
		return fmt.Errorf("the texture's %s is a format of %s", t.Format, t.Format.Base())
	case r.Type.Base() != "float" && s.Sampler.Filters():
		return fmt.Errorf("integers cannot be filtered: take the nearest texel")
	case r.Type.Shadow() && !t.Format.Depth():
		return fmt.Errorf("a shadow sampler needs a texture of depths, not of %s", t.Format)
	case r.Type.Shadow() != compares:
		return fmt.Errorf("shadow samplers, and no others, need Sampler.Compare")
	}
	return nil
}
