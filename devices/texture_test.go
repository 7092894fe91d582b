//go:build linux

package devices_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
)

// A job runs where its texture is, one of textures on two members is refused, and a texture is
// made where it is asked for.
func TestTexturesHaveAMember(t *testing.T) {
	ctx := t.Context()
	g := openGroup(t, 2, devices.Options{})
	if _, err := g.Members(ctx); err != nil {
		t.Fatal(err)
	}
	p, err := g.Get(ctx, sourceOf(t, "copied", `
layout(local_size_x = 4) in;
layout(rgba8ui, binding = 0) readonly uniform uimage2D from;
layout(rgba8ui, binding = 1) writeonly uniform uimage2D to;
void main() { ivec2 at = ivec2(gl_GlobalInvocationID.xy); imageStore(to, at, imageLoad(from, at) + 1u); }`))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	shape := texel.Shape{Format: "rgba8ui", Width: 4}
	texture := func(make func() (job.Texture, error)) job.Texture {
		x, err := make()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(x.Release)
		return x
	}
	first := texture(func() (job.Texture, error) { return g.NewTexture(ctx, shape) })
	second := texture(func() (job.Texture, error) { return g.NewTexture(ctx, shape) })
	beside := [2]job.Texture{}
	for rank := range beside {
		beside[rank] = texture(func() (job.Texture, error) { return g.NewTextureOn(ctx, rank, shape) })
	}
	j := &job.Job{Dispatch: job.Dispatch{
		Program: p, Groups: [3]uint32{1, 1, 1}, Images: []job.Image{{Name: "from", Texture: first, Access: "readonly"}, {Name: "to", Texture: second}},
	}}
	err = g.Run(ctx, j)
	if !errors.Is(err, devices.ErrOtherMember) || !errors.Is(err, job.ErrInvalid) || !strings.Contains(err.Error(), "texture of image 1: it is on device") {
		t.Errorf("textures of two members: %v", err)
	}
	for rank, from := range []job.Texture{first, second} {
		j.Images[0].Texture, j.Images[1].Texture = from, beside[rank]
		if err := g.Run(ctx, j); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 16)
		if err := beside[rank].Read(ctx, texel.Region{}, got); err != nil || !slices.Equal(got, slices.Repeat([]byte{1}, 16)) {
			t.Errorf("member %d: %v, %v", rank, got, err)
		}
	}
	if stats := g.MemberStats(); stats[0].Jobs != 1 || stats[1].Jobs != 1 || stats[0].Bytes != 32 || stats[1].Bytes != 32 {
		t.Errorf("%+v", stats)
	}
	if _, err := g.NewTexture(ctx, texel.Shape{Dim: "2DRect"}); !errors.Is(err, job.ErrInvalid) {
		t.Error(err)
	}
}
