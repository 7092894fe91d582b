package job

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/shader"
)

// Limits are what a GPU allows jobs.
type Limits struct {
	MaxGroups   [3]int32 // work groups in a dispatch, each axis
	MaxStorage  int64    // bytes of one shader storage block
	MaxUniform  int64    // bytes of one uniform block
	MaxCounters int64    // bytes of one atomic counter buffer

	StorageAlignment int // of offsets into a storage buffer, bytes
	UniformAlignment int // of offsets into a uniform buffer, bytes

	// Of programs with local_size_variable, zero where the driver has none.
	MaxVariableSize        [3]int32 // invocations in a work group, each axis
	MaxVariableInvocations int32    // invocations in a work group, all axes
}

// maxInputs and maxOutputs are what a job may have: each is looked at for each storage block.
const maxInputs, maxOutputs = 1024, 64

// Use is one resource of a dispatch with what the job binds to it.
type Use struct {
	Dispatch int
	Resource *shader.Resource // nil: a storage binding of a HostCall
	Binding  uint32           // of a block; the unit of an image or a sampler

	// Index is the place in Buffers of the dispatch, or in Inputs or Outputs of the job where
	// one of these is set; of other resources that in Blocks, Uniforms, Images, Textures or
	// Counters, where -1 is Params.
	Index         int
	Input, Output bool
}

// Checker checks a job against its programs and a GPU, and says what is bound to what: the
// one pass of all devices. Errors match ErrInvalid. It reads no memory that the job binds.
type Checker struct {
	Job    *Job
	Limits *Limits
	Uses   *[]Use // to which each dispatch appends; nil: nothing is kept

	outputs uint64 // one bit for each output that a program is bound to
	counted uint64 // likewise, for each of Counters
}

// Check returns ErrInvalid for a job that does not fit its programs or a GPU, and says why:
// for a device that has the job run elsewhere.
func Check(j *Job, l *Limits) error {
	c := Checker{Job: j, Limits: l}
	if err := c.operands(); err != nil {
		return err
	}
	for i := range j.Count() {
		d := j.At(i)
		if d.Host != nil {
			if err := c.Host(i); err != nil {
				return fmt.Errorf("%w: %s on the host: %w", ErrInvalid, d.Host.Name, err)
			}
			continue
		}
		of := d.Program.Interface()
		if err := c.Dispatch(i, &of); err != nil {
			return fmt.Errorf("%w: program %s: %w", ErrInvalid, d.Program.Name(), err)
		}
	}
	return c.End()
}

func (c *Checker) operands() error {
	for i := range c.Job.Inputs {
		if _, err := c.Job.Inputs[i].Len(); err != nil {
			return err
		}
	}
	for i := range c.Job.Outputs {
		if _, err := c.Job.Outputs[i].Len(); err != nil {
			return err
		}
	}
	for i := range c.Job.TextureInputs {
		if _, _, err := c.Job.TextureInputs[i].Place(); err != nil {
			return fmt.Errorf("%w: texture input %d: %w", ErrInvalid, i, err)
		}
	}
	for i := range c.Job.TextureOutputs {
		if _, _, err := c.Job.TextureOutputs[i].Place(); err != nil {
			return fmt.Errorf("%w: texture output %d: %w", ErrInvalid, i, err)
		}
	}
	return nil
}

// End returns an error for an output, or for counters, that no dispatch is bound to.
func (c *Checker) End() error {
	for i := range c.Job.Outputs {
		if c.outputs&(1<<i) == 0 {
			return fmt.Errorf("%w: output at binding %d: no program of the job has a storage block there", ErrInvalid, c.Job.Outputs[i].Binding)
		}
	}
	for i := range c.Job.Counters {
		if c.counted&(1<<i) == 0 {
			return fmt.Errorf("%w: counters at binding %d: no program of the job has a counter there", ErrInvalid, c.Job.Counters[i].Binding)
		}
	}
	return nil
}

// Dispatch checks the i-th dispatch, whose program has an interface. Its error has neither the
// name of the program nor the kind.
func (c *Checker) Dispatch(i int, of *shader.Interface) error {
	d := c.Job.At(i)
	if in, out := len(c.Job.Inputs), len(c.Job.Outputs); in > maxInputs || out > maxOutputs {
		return fmt.Errorf("%d inputs and %d outputs, at most %d and %d can be", in, out, maxInputs, maxOutputs)
	}
	if err := c.groups(d, of.WorkGroup[0] == 0); err != nil {
		return err
	}
	if err := c.buffers(d); err != nil {
		return err
	}
	for k := range of.Resources {
		if err := c.resource(i, &of.Resources[k], of); err != nil {
			return err
		}
	}
	return nil
}

// Host checks the i-th dispatch, which is a call of the host.
func (c *Checker) Host(i int) error {
	d := c.Job.At(i)
	switch {
	case d.Host.Call == nil:
		return errors.New("it has no Call")
	case d.Program != nil || d.Groups != [3]uint32{} || d.GroupSize != [3]uint32{} || d.Indirect != nil ||
		len(d.Uniforms)+len(d.Params)+len(d.Blocks)+len(d.Images)+len(d.Textures) > 0:
		return errors.New("it has a program too, or what only programs use")
	}
	if err := c.buffers(d); err != nil {
		return err
	}
	for _, binding := range d.Host.Bindings {
		u := Use{Dispatch: i, Binding: binding}
		if given := c.storage(d, &u); given != 1 {
			return fmt.Errorf("binding %d is bound %d times, not once", binding, given)
		}
		c.use(u)
	}
	return nil
}

func (c *Checker) use(u Use) {
	if u.Output {
		c.outputs |= 1 << u.Index
	}
	if c.Uses != nil {
		*c.Uses = append(*c.Uses, u)
	}
}

// groups checks the work groups of a dispatch, whose program may leave their size to it.
func (c *Checker) groups(d *Dispatch, variable bool) error {
	if err := c.groupSize(d, variable); err != nil {
		return err
	}
	if in := d.Indirect; in != nil {
		if in.Offset < 0 || in.Offset%4 != 0 || in.Offset > in.Buffer.Size()-12 {
			return fmt.Errorf("indirect work groups at byte %d of %d: three words at a multiple of 4 are needed", in.Offset, in.Buffer.Size())
		}
		return nil
	}
	if d.Groups == [3]uint32{} && len(d.Images)+len(d.Textures) > 0 {
		return nil // makes the driver ready
	}
	for axis, n := range d.Groups {
		if n == 0 {
			return fmt.Errorf("Groups are %d: 0 along %c, so nothing would run: where groups are along x alone, those along y and z are 1, not 0", d.Groups, 'x'+rune(axis))
		}
		if limit := c.Limits.MaxGroups[axis]; int64(n) > int64(limit) {
			return fmt.Errorf("%d work groups along %c, this device allows %d: split the job", n, 'x'+rune(axis), limit)
		}
	}
	return nil
}

// groupSize checks the size of work groups, which only programs with local_size_variable
// leave to the dispatch.
func (c *Checker) groupSize(d *Dispatch, variable bool) error {
	if !variable {
		if d.GroupSize != [3]uint32{} {
			return errors.New("has a GroupSize and the program declares its own: local_size_variable leaves it to the dispatch")
		}
		return nil
	}
	if d.Indirect != nil {
		return errors.New("a program with local_size_variable cannot be dispatched indirectly")
	}
	invocations := int64(1)
	for axis, n := range d.GroupSize {
		if limit := c.Limits.MaxVariableSize[axis]; n == 0 || int64(n) > int64(limit) {
			return fmt.Errorf("a GroupSize of %d along %c: the program has local_size_variable, this device allows 1 to %d", n, 'x'+rune(axis), limit)
		}
		invocations *= int64(n)
	}
	if limit := c.Limits.MaxVariableInvocations; invocations > int64(limit) {
		return fmt.Errorf("a GroupSize of %d invocations, this device allows %d", invocations, limit)
	}
	return nil
}

func (c *Checker) buffers(d *Dispatch) error {
	for k := range d.Buffers {
		b := &d.Buffers[k]
		err := checkPart(b.Buffer, b.Offset, b.Size, c.Limits.StorageAlignment)
		if b.Zero && (b.ReadOnly || b.Len()%4 != 0) {
			err = fmt.Errorf("Zero of %d bytes: it writes whole words, and none that are ReadOnly", b.Len())
		}
		if err != nil {
			return fmt.Errorf("memory at binding %d: %w", b.Binding, err)
		}
	}
	return nil
}

// checkPart checks a range of a buffer whose offset has to be aligned; a size of 0 is the rest.
func checkPart(b Bindable, offset, size, align int) error {
	if offset < 0 || offset%align != 0 {
		return fmt.Errorf("offset %d is not a multiple of %d", offset, align)
	}
	if size == 0 {
		size = b.Size() - offset
	}
	if size <= 0 || size > b.Size()-offset {
		return fmt.Errorf("bytes %d to %d of %d", offset, offset+size, b.Size())
	}
	return nil
}

// resource checks that one resource of a program is provided.
func (c *Checker) resource(i int, r *shader.Resource, of *shader.Interface) error {
	d := c.Job.At(i)
	switch r.Kind {
	case shader.StorageBuffer:
		return c.storageBlock(i, d, r)
	case shader.UniformBuffer:
		return c.uniformBlock(i, d, r)
	case shader.AtomicCounter:
		return c.counters(i, r)
	}
	if r.Binding < 0 {
		return nil // has no location: atomic counters, and built-in variables that some drivers list
	}
	switch r.Opaque() {
	case "image":
		return c.images(i, d, r)
	case "sampler":
		return c.textures(i, d, r)
	}
	return c.uniform(i, d, r, of)
}

// storage sets what a storage binding of a dispatch is bound to, and returns how often, which
// must be once. Buffers of the dispatch take precedence over inputs and outputs of the job.
func (c *Checker) storage(d *Dispatch, u *Use) (given int) {
	for i := range d.Buffers {
		if d.Buffers[i].Binding == u.Binding {
			u.Index = i
			given++
		}
	}
	if given > 0 {
		return given
	}
	for i := range c.Job.Inputs {
		if c.Job.Inputs[i].Binding == u.Binding {
			u.Index, u.Input = i, true
			given++
		}
	}
	for i := range c.Job.Outputs {
		if c.Job.Outputs[i].Binding == u.Binding {
			u.Index, u.Output = i, true
			given++
		}
	}
	return given
}

func (c *Checker) storageBlock(i int, d *Dispatch, r *shader.Resource) error {
	u := Use{Dispatch: i, Resource: r, Binding: uint32(r.Binding)}
	switch given := c.storage(d, &u); {
	case given == 0:
		return fmt.Errorf("storage block %s (binding %d) is not bound", r.Name, r.Binding)
	case given > 1:
		return fmt.Errorf("storage block %s (binding %d) is bound twice", r.Name, r.Binding)
	}
	size := 0
	switch {
	case u.Input:
		size = c.Job.Inputs[u.Index].size()
	case u.Output:
		size = c.Job.Outputs[u.Index].size()
	default:
		size = d.Buffers[u.Index].Len()
	}
	if err := checkBlock(r, size, u.Input || u.Output); err != nil {
		return err
	}
	if limit := c.Limits.MaxStorage; int64(size) > limit {
		return fmt.Errorf("storage block %s (binding %d) is bound to %d bytes, this device allows %d", r.Name, r.Binding, size, limit)
	}
	c.use(u)
	return nil
}

// blockAlign is what Mesa rounds the size of a block up to.
const blockAlign = 16

// checkBlock returns an error where size bytes are too few for a storage block, or, as whole
// demands, not all of them are elements of its last array or words.
func checkBlock(r *shader.Resource, size int, whole bool) error {
	if least := max(int(r.Declared), int(r.Bytes)-blockAlign+1); size < least {
		return fmt.Errorf("storage block %s (binding %d) needs %d bytes and is bound to %d", r.Name, r.Binding, least, size)
	}
	element := max(4, int(r.Stride))
	if rest := (size - int(r.Offset)) % element; whole && rest != 0 {
		return fmt.Errorf("storage block %s (binding %d) is bound to %d bytes, %d more than whole elements of %d bytes from byte %d on",
			r.Name, r.Binding, size, rest, element, r.Offset)
	}
	return nil
}
