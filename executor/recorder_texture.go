package executor

import (
	"fmt"
	"math/bits"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job/texel"
)

// copyTexels records copies between a slot and textures, and those that start counters.
// GL orders them among themselves and after earlier reads by samplers; a barrier is
// needed after a kernel that used a texture as an image.
func (r *recorder) copyTexels(gl *glctx.GL, s *slot, copies []transfer) error {
	for i := range copies {
		c := &copies[i]
		if c.texture == nil {
			gl.Copy(s.inputs, c.offset, s.outputs, c.to, c.size)
			continue
		}
		added := r.addKinds(glctx.BarrierImage | glctx.BarrierTexture | glctx.BarrierTextureUpdate)
		hazard := r.isHazard(&c.texture.object, c.out)
		if c.memory != nil {
			hazard = hazard || r.isHazard(&c.memory.object, !c.out)
			r.wroteMapped = r.wroteMapped || c.out && c.memory.isMapped()
		}
		if added || hazard {
			r.synchronize(gl, r.kinds)
		}
		if err := c.record(gl, s); err != nil {
			return fmt.Errorf("executor: %w", err)
		}
	}
	return nil
}

func (c *transfer) record(gl *glctx.GL, s *slot) error {
	buffer := s.inputs
	switch {
	case c.memory != nil:
		buffer = c.memory.buffer
	case c.out:
		buffer = s.outputs
	}
	if c.out {
		return gl.CopyFromTexture(c.texture.texture, c.region, buffer, c.offset)
	}
	return gl.CopyToTexture(c.texture.texture, c.region, buffer, c.offset)
}

// textureHazard reports whether a barrier is needed before a command uses its textures.
func (r *recorder) textureHazard(images []imageBind, textures []textureBind) bool {
	for i := range images {
		if r.isHazard(&images[i].texture.object, images[i].access == "readonly") {
			return true
		}
	}
	for i := range textures {
		if r.isHazard(&textures[i].texture.object, true) {
			return true
		}
	}
	return false
}

func (r *recorder) bindImages(gl *glctx.GL, images []imageBind) {
	for i := range images {
		b := &images[i]
		gl.BindImage(b.unit, b.texture.texture, b.level, b.layer, b.access, b.format)
		r.uses(&b.texture.object, b.access == "readonly")
	}
}

func (r *recorder) bindTextures(gl *glctx.GL, textures []textureBind) error {
	if len(r.samplers)+len(textures) > mostSamplers {
		r.free(gl) // here: a sampler that is deleted is unbound, also from a unit of this dispatch
	}
	for i := range textures {
		b := &textures[i]
		sampler, err := r.sampler(gl, b.sampler)
		if err != nil {
			return fmt.Errorf("executor: %w", err)
		}
		gl.BindTexture(b.unit, b.texture.texture, sampler)
		r.sampled |= 1 << min(b.unit, 63)
		r.uses(&b.texture.object, true)
	}
	return nil
}

// mostSamplers is the number of sampler objects that are kept.
const mostSamplers = 256

// sampler returns the sampler object of a state. It is made once.
func (r *recorder) sampler(gl *glctx.GL, state texel.Sampler) (glctx.Sampler, error) {
	if s, made := r.samplers[state]; made {
		return s, nil
	}
	s, err := gl.NewSampler(state)
	if err != nil {
		return s, err
	}
	r.samplers[state] = s
	return s, nil
}

// free deletes the sampler objects.
func (r *recorder) free(gl *glctx.GL) {
	for _, s := range r.samplers {
		gl.DeleteSampler(s)
	}
	clear(r.samplers)
}

// unbindSamplers removes the samplers from the texture units, where they would count
// for whatever the owner of an adopted context binds next.
func (r *recorder) unbindSamplers(gl *glctx.GL) {
	for ; r.sampled != 0; r.sampled &= r.sampled - 1 {
		unit := uint32(bits.TrailingZeros64(r.sampled))
		last := unit
		if unit == 63 {
			last = uint32(max(63, gl.Info().Textures.TextureUnits-1))
		}
		for ; unit <= last; unit++ {
			gl.UnbindSampler(unit)
		}
	}
}
