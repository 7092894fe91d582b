package job

import (
	"errors"
	"fmt"
	"slices"
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

// units checks that each element of an image or sampler uniform has one of n things of a dispatch,
// which place names, and that check accepts it. needs is the field to fill and what it holds.
func (c *Checker) units(i int, r *shader.Resource, needs string, n int, place func(int) (name string, binding uint32), check func(int) error) error {
	for k := range max(1, int(r.Bytes)) {
		unit, found := uint32(r.Unit)+uint32(k), -1
		describe := func() string { return fmt.Sprintf("%s %s (%s, unit %d)", r.Opaque(), elementName(r, k), r.Type, unit) }
		for index := range n {
			name, binding := place(index)
			switch isThis := name == "" && binding == unit || name != "" && isElement(name, r, k); {
			case isThis && found >= 0:
				return fmt.Errorf("%s is bound twice", describe())
			case isThis:
				found = index
			}
		}
		if found < 0 {
			return fmt.Errorf("%s is not bound: %s with the Name %q or the Binding %d", describe(), needs, elementName(r, k), unit)
		}
		if err := check(found); err != nil {
			return fmt.Errorf("%s: %w", describe(), err)
		}
		if name, _ := place(found); name != "" && sharesUnit(c.Job.At(i).Program, r, int32(unit)) {
			return fmt.Errorf("%s shares its unit with another: give each a binding of its own, or bind one thing for both, with the Binding %d and no Name", describe(), unit)
		}
		c.use(Use{Dispatch: i, Resource: r, Binding: unit, Index: found})
	}
	return nil
}

// sharesUnit reports whether a program has another image or sampler uniform at a unit of one.
func sharesUnit(p Program, one *shader.Resource, unit int32) bool {
	return slices.ContainsFunc(p.Interface().Resources, func(r shader.Resource) bool {
		return r.Opaque() == one.Opaque() && r.Name != one.Name && r.Unit <= unit && unit < r.Unit+max(1, r.Bytes)
	})
}

// images checks that each element of an image uniform has one of the dispatch's Images.
func (c *Checker) images(i int, d *Dispatch, r *shader.Resource) error {
	return c.units(i, r, "Dispatch.Images needs an Image", len(d.Images),
		func(n int) (string, uint32) { return d.Images[n].Name, d.Images[n].Binding },
		func(n int) error { return checkImage(&d.Images[n], r) })
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
	return c.units(i, r, "Dispatch.Textures needs a Sampled", len(d.Textures),
		func(n int) (string, uint32) { return d.Textures[n].Name, d.Textures[n].Binding },
		func(n int) error { return checkSampled(&d.Textures[n], r) })
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
