//go:build linux

package wave3d

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels
var kernels embed.FS

// Sim is a simulation over the members of a group. It must be used from one goroutine.
type Sim struct {
	options  Options
	group    *devices.Group
	start    kernel
	step     kernel // of any cells
	inner    kernel // of interiors, without code for faces
	mesh     devices.Mesh
	blocks   []*block
	exchange *devices.Exchange
	steps    int
	running  []shadercache.Pending // interiors that were not waited for
	times    Times
	err      error
}

// Times is where the host's time went in the steps of a simulation.
type Times struct {
	Submit     time.Duration // jobs
	Boundaries time.Duration // waiting for them
	Interiors  time.Duration // waiting for those of the step before
	Swap       time.Duration // faces
}

// New makes a simulation at step 0, once all members are open. Close releases it. It
// returns errors for options, and those of the group.
func New(ctx context.Context, g *devices.Group, o Options) (*Sim, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Members == 0 || o.Members > g.Len() {
		o.Members = g.Len()
	}
	s := &Sim{options: o, group: g, mesh: devices.NewMesh(o.Members, o.Cells[:]...)}
	err := s.getPrograms(ctx)
	if err == nil {
		err = s.makeBlocks(ctx)
	}
	if err == nil {
		err = s.begin(ctx)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("wave3d: %w", err)
	}
	return s, nil
}

// Mesh returns how the volume is divided.
func (s *Sim) Mesh() devices.Mesh { return s.mesh }

// Times returns where the time of the steps so far went.
func (s *Sim) Times() Times { return s.times }

// Steps returns the number of steps that were done.
func (s *Sim) Steps() int { return s.steps }

// innerPlanes is the number of cells of an invocation for interiors. On an H200 and on llvmpipe
// more are hardly faster, see BenchmarkSlabs.
const innerPlanes = 16

func (s *Sim) getPrograms(ctx context.Context) (err error) {
	for _, p := range []struct {
		to      *kernel
		name    string
		planes  int
		defines shader.Defines
		check   func(*knownBlock) error
	}{
		{&s.start, "wave3d_start", 1, nil, (*knownBlock).start},
		{&s.step, "wave3d_step", 1, nil, (*knownBlock).step},
		{&s.inner, "wave3d_step", innerPlanes, innerDefines(innerPlanes), (*knownBlock).interior},
	} {
		source, err := source(p.name, p.defines)
		if err != nil {
			return err
		}
		p.to.planes = p.planes
		p.to.Program, err = s.group.GetChecked(ctx, source, func(_ context.Context, gpu *shadercache.GPU, program uint32) error {
			return checkKnown(gpu, program, p.planes, p.check)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// innerDefines are those of wave3d_step for interiors.
func innerDefines(planes int) shader.Defines {
	return shader.Defines{"FACES": "0", "PLANES": strconv.Itoa(planes)}
}

// source returns a kernel with block.glsl in it.
func source(name string, defines shader.Defines) (*shader.Source, error) {
	text, err := kernels.ReadFile("kernels/" + name + ".comp")
	if err != nil {
		return nil, err
	}
	block, err := kernels.ReadFile("kernels/block.glsl")
	if err != nil {
		return nil, err
	}
	return shader.NewSource(name, strings.Replace(string(text), `#include "block.glsl"`, string(block), 1), defines)
}

// makeBlocks divides the volume, and links the faces of neighbours.
func (s *Sim) makeBlocks(ctx context.Context) error {
	for rank := range s.mesh.Len() {
		b := &block{rank: rank}
		for axis, at := range s.mesh.At(rank) {
			share := job.Shares(s.options.Cells[axis], s.mesh.Sides[axis])[at]
			b.origin[axis], b.size[axis] = share.First, share.Len
		}
		for face := range faceCount {
			b.in[face], b.out[face] = -1, -1
		}
		s.blocks = append(s.blocks, b)
		if err := b.allocate(ctx, s.group); err != nil {
			return err
		}
	}
	if err := s.linkFaces(ctx); err != nil {
		return err
	}
	for _, b := range s.blocks {
		b.divide()
	}
	return nil
}

// linkFaces makes the exchange of all faces between blocks.
func (s *Sim) linkFaces(ctx context.Context) (err error) {
	var links []devices.Link
	var faces []int
	for rank, b := range s.blocks {
		for face := range faceCount {
			if to, ok := s.mesh.Neighbour(rank, face/2, face%2 == 1); ok {
				links = append(links, devices.Link{From: rank, To: to, Bytes: 4 * b.faceCells(face/2)})
				faces = append(faces, face)
			}
		}
	}
	if s.exchange, err = s.group.NewExchange(ctx, links...); err != nil {
		return err
	}
	for i, l := range links {
		s.blocks[l.From].out[faces[i]] = s.exchange.OutPlace(i).Offset / 4
		s.blocks[l.To].in[faces[i]^1] = s.exchange.InPlace(i).Offset / 4 // the face on the other side
	}
	return nil
}

// begin sets all blocks to step 0 and gives the neighbours their faces.
func (s *Sim) begin(ctx context.Context) error {
	var list []shadercache.Pending
	defer func() { release(list) }()
	for _, b := range s.blocks {
		d := b.dispatch(s.start, s.options, box{hi: b.size}, []shadercache.Bound{
			{Binding: 0, Buffer: b.fields[0]}, {Binding: 1, Buffer: b.fields[1]}, {Binding: 3, Buffer: facesOr(b, s.exchange.Out(b.rank, 0))},
		})
		p, err := s.group.Submit(ctx, &shadercache.Job{Dispatch: d})
		if err != nil {
			return err
		}
		list = append(list, p)
	}
	if err := waitAll(ctx, list); err != nil {
		return err
	}
	return s.exchange.Swap(ctx, 0)
}

// facesOr returns a buffer of faces, or one that stands for it.
func facesOr(b *block, of shadercache.Buffer) shadercache.Buffer {
	if of == nil {
		return b.none
	}
	return of
}

// Step does n steps. After an error the simulation cannot be used any more.
func (s *Sim) Step(ctx context.Context, n int) error {
	for range n {
		if s.err == nil {
			s.err = s.stepOnce(ctx)
		}
	}
	if s.err == nil {
		s.err = s.waitInteriors(ctx, nil)
	}
	if s.err != nil {
		return fmt.Errorf("wave3d: step %d: %w", s.steps, s.err)
	}
	return nil
}

// stepOnce submits a step, and passes its faces on when the boundaries are done. Interiors
// of the step before are waited for when those of this one are submitted, so that no GPU
// waits for the host.
func (s *Sim) stepOnce(ctx context.Context) error {
	var boundaries, interiors []shadercache.Pending
	defer func() { release(boundaries) }()
	lap := stopwatch()
	for _, b := range s.blocks {
		if len(b.boundary) == 0 {
			continue
		}
		p, err := s.submit(ctx, b, s.step, b.boundary)
		if err != nil {
			release(interiors)
			return err
		}
		boundaries = append(boundaries, p)
	}
	for _, b := range s.blocks {
		if b.interior.empty() {
			continue
		}
		p, err := s.submit(ctx, b, s.inner, []box{b.interior})
		if err != nil {
			release(interiors)
			return err
		}
		interiors = append(interiors, p)
	}
	lap(&s.times.Submit)
	if err := s.waitInteriors(ctx, interiors); err != nil {
		return err
	}
	lap(&s.times.Interiors)
	if err := waitAll(ctx, boundaries); err != nil {
		return err
	}
	lap(&s.times.Boundaries)
	s.steps++
	err := s.exchange.Swap(ctx, s.steps)
	lap(&s.times.Swap)
	return err
}

// stopwatch returns a function that adds the time since its last call.
func stopwatch() func(to *time.Duration) {
	last := time.Now()
	return func(to *time.Duration) {
		now := time.Now()
		*to += now.Sub(last)
		last = now
	}
}

// submit submits a job of a block that steps boxes of cells, one after the other.
func (s *Sim) submit(ctx context.Context, b *block, by kernel, boxes []box) (shadercache.Pending, error) {
	now, next := b.fields[s.steps&1], b.fields[s.steps&1^1]
	buffers := []shadercache.Bound{
		{Binding: 0, Buffer: now, ReadOnly: true},
		{Binding: 1, Buffer: next},
	}
	if by == s.step {
		buffers = append(buffers,
			shadercache.Bound{Binding: 2, Buffer: facesOr(b, s.exchange.In(b.rank, s.steps)), ReadOnly: true},
			shadercache.Bound{Binding: 3, Buffer: facesOr(b, s.exchange.Out(b.rank, s.steps+1))})
	}
	job := &shadercache.Job{Dispatch: b.dispatch(by, s.options, boxes[0], buffers)}
	for _, cells := range boxes[1:] {
		job.Then = append(job.Then, b.dispatch(by, s.options, cells, buffers))
	}
	return s.group.Submit(ctx, job)
}

// waitInteriors waits for the interiors of the step before, and remembers those of the
// next.
func (s *Sim) waitInteriors(ctx context.Context, next []shadercache.Pending) error {
	done := s.running
	s.running = next
	defer release(done)
	return waitAll(ctx, done)
}

func waitAll(ctx context.Context, list []shadercache.Pending) error {
	for _, p := range list {
		if err := p.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

func release(list []shadercache.Pending) {
	for _, p := range list {
		p.Release()
	}
}

// Field returns the cells of the volume, x densest.
func (s *Sim) Field(ctx context.Context) ([]float32, error) {
	field := make([]float32, s.options.count())
	for _, b := range s.blocks {
		cells := make([]float32, b.size[0]*b.size[1]*b.size[2])
		if _, err := b.fields[s.steps&1].Read(ctx, 0, glctx.Bytes(cells)); err != nil {
			return nil, fmt.Errorf("wave3d: %w", err)
		}
		for z := range b.size[2] {
			for y := range b.size[1] {
				at := ((b.origin[2]+z)*s.options.Cells[1]+b.origin[1]+y)*s.options.Cells[0] + b.origin[0]
				copy(field[at:at+b.size[0]], cells[(z*b.size[1]+y)*b.size[0]:])
			}
		}
	}
	return field, nil
}

// Close releases memory and programs, once the GPUs have finished.
func (s *Sim) Close() {
	release(s.running)
	s.running = nil
	for _, b := range s.blocks {
		b.release()
	}
	if s.exchange != nil {
		s.exchange.Release()
	}
	for _, k := range []kernel{s.start, s.step, s.inner} {
		if k.Program != nil {
			k.Release()
		}
	}
}
