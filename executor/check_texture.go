package executor

import (
	"errors"
	"fmt"
	"image"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// placeTextures gives the texels of a job their places.
func (e *Executor) placeTextures(j *Job, l *layout) error {
	for i := range j.TextureInputs {
		in := &j.TextureInputs[i]
		x, err := e.textureTransfer(in.Texture, in.Region, in.Picture, in.Picture != nil, len(in.Texels), in.Texels != nil, in.Fill != nil)
		if err != nil {
			return fmt.Errorf("executor: texture input %d: %w", i, err)
		}
		x.span = l.addUp(x.size, e.align)
		l.textureInputs = append(l.textureInputs, x)
	}
	for i := range j.TextureOutputs {
		out := &j.TextureOutputs[i]
		x, err := e.textureTransfer(out.Texture, out.Region, out.Picture, out.Picture != nil, len(out.To), out.To != nil, out.Read != nil)
		if err != nil {
			return fmt.Errorf("executor: texture output %d: %w", i, err)
		}
		x.out = true
		x.span = l.addDown(x.size, e.align)
		l.textureOutputs = append(l.textureOutputs, x)
	}
	return nil
}

// textureTransfer checks the texels that are copied to or from a region. n is the length
// of a slice; the flags tell which of a picture, a slice and a function were given.
func (e *Executor) textureTransfer(of job.Texture, r texel.Region, picture image.Image, isPicture bool, n int, isSlice, isFunction bool) (transfer, error) {
	t := textureOf(of)
	if err := e.checkTexture(t); err != nil {
		return transfer{}, err
	}
	given := 0
	for _, is := range [...]bool{isPicture, isSlice, isFunction} {
		if is {
			given++
		}
	}
	if given != 1 {
		return transfer{}, fmt.Errorf("has %d of a slice, a picture and a function, and needs one", given)
	}
	if isPicture {
		size := picture.Bounds().Size()
		if r.Width != 0 && r.Width != size.X || r.Height != 0 && r.Height != size.Y || r.Depth > 1 {
			return transfer{}, fmt.Errorf("a picture of %d by %d pixels for a region of %d by %d by %d", size.X, size.Y, r.Width, r.Height, r.Depth)
		}
		if size.X < 1 || size.Y < 1 {
			return transfer{}, fmt.Errorf("a picture of %d by %d pixels", size.X, size.Y)
		}
		if !t.texture.Format.CanHoldPicture() {
			return transfer{}, fmt.Errorf("%s does not hold pictures: use R8, R16, R32F, RGBA8, SRGB8A8, RGBA16 or RGBA32F", t.texture.Format)
		}
		r.Width, r.Height, r.Depth = size.X, size.Y, 1
	}
	size, err := t.texture.RegionBytes(r)
	if err != nil {
		return transfer{}, err
	}
	if isSlice && n != size {
		return transfer{}, fmt.Errorf("%d bytes, the texels of the region have %d", n, size)
	}
	return transfer{span: span{size: size}, texture: t, region: r}, nil
}

func (e *Executor) checkTexture(t *Texture) error {
	switch {
	case t == nil:
		return errors.New("there is no texture")
	case t.e != e:
		return errors.New("the texture belongs to another executor")
	case t.released.Load():
		return errTextureReleased
	}
	return nil
}

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

// bindImages binds each element of an image uniform to one of the dispatch's Images.
func (e *Executor) bindImages(d *Dispatch, r *shader.Resource, l *layout) error {
	for k := range max(1, int(r.Bytes)) {
		unit, found := uint32(r.Unit)+uint32(k), unbound
		for i := range d.Images {
			found = found.or(i, d.Images[i].Name, d.Images[i].Binding, r, k)
		}
		if err := found.check("image", "Dispatch.Images needs an Image", r, k); err != nil {
			return err
		}
		b, err := e.imageBind(&d.Images[found], r)
		if err != nil {
			return fmt.Errorf("image %s (%s, unit %d): %w", elementName(r, k), r.Type, unit, err)
		}
		b.unit = unit
		l.images = append(l.images, b)
	}
	return nil
}

// imageBind checks an image against the uniform that it is for.
func (e *Executor) imageBind(im *job.Image, r *shader.Resource) (imageBind, error) {
	own := textureOf(im.Texture)
	if err := e.checkTexture(own); err != nil {
		return imageBind{}, err
	}
	t := &own.texture
	b := imageBind{texture: own, level: im.Level, layer: texel.AllLayers, access: im.Access, format: im.Format}
	if b.format == 0 {
		b.format = t.Format
	}
	if im.Level < 0 || im.Level >= t.Levels {
		return b, fmt.Errorf("level %d of a texture with %d", im.Level, t.Levels)
	}
	if im.Access > texel.WriteOnly {
		return b, fmt.Errorf("there is no access %d", im.Access)
	}
	_, _, depth := t.LevelSize(im.Level)
	switch {
	case r.Type.Dim() == t.Dim:
		if im.Layer != 0 {
			return b, fmt.Errorf("layer %d: the image has all layers of the %s texture", im.Layer, t.Dim)
		}
	case isLayerOf(r.Type.Dim(), t.Dim):
		if b.layer = im.Layer; b.layer < 0 || b.layer >= depth {
			return b, fmt.Errorf("layer %d of %d", b.layer, depth)
		}
	default:
		return b, fmt.Errorf("the texture is %s", t.Dim)
	}
	return b, checkImageFormat(b.format, t, r)
}

// isLayerOf reports whether an image of a shape can be one layer of a texture.
func isLayerOf(image, texture shader.Dim) bool {
	switch texture {
	case shader.Dim3D, shader.DimCube, shader.Dim2DArray, shader.DimCubeArray:
		return image == shader.Dim2D
	case shader.Dim1DArray:
		return image == shader.Dim1D
	}
	return false
}

// checkImageFormat checks the format of an image: with another one than the declared,
// GL computes anything.
func checkImageFormat(f texel.Format, t *glctx.Texture, r *shader.Resource) error {
	if f.Qualifier() == "" {
		return fmt.Errorf("%s is not a format of images", f)
	}
	if declared := texel.FormatOf(r.Format); declared != 0 && declared != f {
		hint := ""
		if t.Format == f && t.Aliases(declared) {
			hint = "; Image.Format can read its bits as " + r.Format
		}
		return fmt.Errorf("the program declares %s and the image is %s%s", r.Format, f.Qualifier(), hint)
	}
	if f.Base() != r.Type.Base() {
		return fmt.Errorf("the format %s is one of %s", f.Qualifier(), f.Base())
	}
	if !t.Aliases(f) {
		return fmt.Errorf("texels of %s cannot be read as %s", t.Format, f.Qualifier())
	}
	return nil
}

// bindTextures binds each element of a sampler uniform to one of the dispatch's Textures.
func (e *Executor) bindTextures(d *Dispatch, r *shader.Resource, l *layout) error {
	for k := range max(1, int(r.Bytes)) {
		unit, found := uint32(r.Unit)+uint32(k), unbound
		for i := range d.Textures {
			found = found.or(i, d.Textures[i].Name, d.Textures[i].Binding, r, k)
		}
		if err := found.check("sampler", "Dispatch.Textures needs a Sampled", r, k); err != nil {
			return err
		}
		s := &d.Textures[found]
		if err := e.checkSampled(s, r); err != nil {
			return fmt.Errorf("sampler %s (%s, unit %d): %w", elementName(r, k), r.Type, unit, err)
		}
		l.textures = append(l.textures, textureBind{unit, textureOf(s.Texture), s.Sampler})
	}
	return nil
}

// checkSampled checks a texture and its sampler against the uniform that they are for.
func (e *Executor) checkSampled(s *job.Sampled, r *shader.Resource) error {
	if err := e.checkTexture(textureOf(s.Texture)); err != nil {
		return err
	}
	if err := s.Sampler.Check(); err != nil {
		return err
	}
	t, compares := &textureOf(s.Texture).texture, s.Sampler.Compare != texel.NoCompare
	switch {
	case t.Dim != r.Type.Dim():
		return fmt.Errorf("the texture is %s", t.Dim)
	case t.Format.Base() != r.Type.Base():
		return fmt.Errorf("the texture's %s is a format of %s", t.Format, t.Format.Base())
	case r.Type.Base() != shader.FloatBase && s.Sampler.Filters():
		return fmt.Errorf("integers cannot be filtered: use texel.Nearest")
	case r.Type.Shadow() && !t.Format.Depth():
		return fmt.Errorf("a shadow sampler needs a texture of depths, not of %s", t.Format)
	case r.Type.Shadow() != compares:
		return fmt.Errorf("shadow samplers, and no others, need Sampler.Compare")
	}
	return nil
}
