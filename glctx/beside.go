package glctx

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
)

// Beside is a Context whose programs are compiled in a second context, on a thread of
// its own and with a lower priority, so that the thread of the first is free for
// frames. The two share nothing but the driver's own cache:
//
//	second context   compiles, links, primes; the driver writes the machine code
//	first context    loads the binary and primes: the machine code is found
//
// A load waits inside the driver while a compile holds its locks. So a few programs are
// compiled, then loaded, and nothing compiles meanwhile.
//
// A binary that the first context rejects is compiled there, and so is everything after
// it. Loads and compiles of the first context still take its thread: with [Adopt], poll
// with [Context.PollFor].
//
// It is a cache.Device; its methods may be called as those of Context. Close closes the
// second context only.
type Beside struct {
	*Context
	side *Context

	rejects atomic.Bool // the first context does not load what the second compiles

	mu struct {
		sync.Mutex
		binaries map[uint32]sealed // of programs of the first context, until they are read
	}
}

// sealed is a program binary.
type sealed struct {
	format  uint32
	payload []byte
}

// OpenBeside opens a second, headless context on the GPU of c. It must not be called in
// a callback. It returns an error where no headless context has the driver of c.
func OpenBeside(c *Context) (*Beside, error) {
	side, err := openSibling(c)
	if err != nil {
		return nil, fmt.Errorf("glctx: compile beside the context: %w", err)
	}
	b := &Beside{Context: c, side: side}
	b.mu.binaries = map[uint32]sealed{}
	side.Post(func(*GL) { lowerPriority() })
	return b, nil
}

// maxSiblings bounds the GPUs that openSibling tries.
const maxSiblings = 16

// openSibling opens a headless context of the same GPU model and driver as c: the first
// that there is, else by its index.
func openSibling(c *Context) (*Context, error) {
	want := c.Fingerprint()
	var tried []string
	for i := -1; i < maxSiblings; i++ {
		device := ""
		if i >= 0 {
			device = strconv.Itoa(i)
		}
		side, err := openLike(c, device)
		if errors.Is(err, ErrNoDevice) {
			break
		}
		if err != nil {
			tried = append(tried, err.Error())
			continue
		}
		if got := side.Fingerprint(); got.Vendor == want.Vendor && got.Renderer == want.Renderer {
			return side, nil
		}
		tried = append(tried, side.Info().GPU)
		side.Close()
	}
	return nil, fmt.Errorf("%w: no headless context of %s, only %q", ErrNoDevice, want.Renderer, tried)
}

// openLike opens a headless context of the kind of c, or else of its API. The driver's
// own cache is where it is: c's.
func openLike(c *Context, device string) (*Context, error) {
	side, err := Open(Options{Device: device, Kind: c.Kind(), DriverCacheOff: true})
	if errors.Is(err, ErrKind) || errors.Is(err, ErrTooOld) {
		return Open(Options{Device: device, Kind: Kind{API: c.info.API}, DriverCacheOff: true})
	}
	return side, err
}

// besidePriority is the niceness of the second context's thread and of the compiler
// threads that the driver starts from it.
const besidePriority = 10

// Close closes the second context.
func (b *Beside) Close() error { return b.side.Close() }

// besideBatch bounds the programs that the second context compiles before the first loads
// them, where the driver compiles several at a time.
const besideBatch = 8

// beside is a program that the second context has compiled.
type beside struct {
	index   int
	program shader.Program // its ID is the second context's, and deleted
	binary  sealed
	err     error
}

// Compile is [Context.Compile] in the second context, followed by a load in the first.
// done is called in any order.
func (b *Beside) Compile(ctx context.Context, sources []*shader.Source, done func(i int, p shader.Program, err error)) {
	size := 1
	if b.side.info.ParallelCompile {
		size = min(besideBatch, runtime.NumCPU())
	}
	for first := 0; first < len(sources); first += size {
		batch := sources[first:min(first+size, len(sources))]
		b.compileBatch(ctx, batch, func(i int, p shader.Program, err error) { done(first+i, p, err) })
	}
}

func (b *Beside) compileBatch(ctx context.Context, sources []*shader.Source, done func(i int, p shader.Program, err error)) {
	var made []beside
	b.PollWhile(func() { made = b.compileBeside(ctx, sources) })
	results := make(chan func(), len(made))
	for _, m := range made {
		go func() {
			p, err := b.adopt(ctx, sources[m.index], m)
			results <- func() { done(m.index, p, err) }
		}()
	}
	for range made {
		var result func()
		b.PollWhile(func() { result = <-results })
		result()
	}
}

// compileBeside compiles in the second context, and waits until the driver has written
// the machine code.
func (b *Beside) compileBeside(ctx context.Context, sources []*shader.Source) (made []beside) {
	b.side.Compile(ctx, sources, func(i int, p shader.Program, err error) { made = append(made, b.export(ctx, i, p, err)) })
	drivercache.Flush()
	return made
}

// export takes the binary of a program.
func (b *Beside) export(ctx context.Context, i int, p shader.Program, err error) beside {
	m := beside{index: i, program: p, err: err}
	if err == nil {
		m.binary.format, m.binary.payload, m.err = b.side.Binary(ctx, p.ID)
		b.side.Delete(p.ID)
	}
	return m
}

// adopt makes the program in the first context: from the binary, else by compiling
// there, which has the last word about errors too.
func (b *Beside) adopt(ctx context.Context, src *shader.Source, m beside) (p shader.Program, err error) {
	if err := ctx.Err(); err != nil {
		return p, err
	}
	if _, wrong := errors.AsType[*shader.CompileError](m.err); wrong && b.alike() {
		return p, m.err
	}
	if m.err != nil || len(m.binary.payload) == 0 || b.rejects.Load() {
		return b.compileHere(ctx, src)
	}
	p, err = b.load(ctx, m.binary)
	if errors.Is(err, shader.ErrRejected) || err == nil && p.Interface.Digest() != m.program.Interface.Digest() {
		b.setRejects(src, err)
		if err == nil {
			b.Context.Delete(p.ID)
		}
		return b.compileHere(ctx, src)
	}
	if err != nil {
		return p, err
	}
	p.CompileNanos = m.program.CompileNanos + m.program.PrimeNanos
	p.MachineCode = m.program.MachineCode
	b.mu.Lock()
	b.mu.binaries[p.ID] = m.binary
	b.mu.Unlock()
	return p, nil
}

// load makes a program in the first context from what the second compiled. Load and prime
// are two callbacks, so that a poll may end between them. The machine code is in the
// driver's cache: a frame does not wait until a thread of the driver's has read it.
func (b *Beside) load(ctx context.Context, s sealed) (p shader.Program, err error) {
	err = b.doContext(ctx, func(gl *GL) error {
		p, err = gl.loadBinary(s.format, s.payload)
		return err
	})
	if err == nil {
		err = b.Do(func(gl *GL) error { return gl.finishProgram(&p, false) })
	}
	if err != nil && p.ID != 0 { // the context was closed between the two
		b.Context.Delete(p.ID)
	}
	return p, err
}

func (b *Beside) compileHere(ctx context.Context, src *shader.Source) (p shader.Program, err error) {
	b.Context.Compile(ctx, []*shader.Source{src}, func(_ int, made shader.Program, failed error) { p, err = made, failed })
	return p, err
}

// alike reports whether the two contexts accept the same sources.
func (b *Beside) alike() bool {
	one, other := b.Fingerprint(), b.side.Fingerprint()
	return one.Version == other.Version && one.GLSL == other.GLSL && one.Profile == other.Profile
}

// setRejects has all later programs compiled in the first context.
func (b *Beside) setRejects(src *shader.Source, err error) {
	if b.rejects.Swap(true) {
		return
	}
	b.logger.Warn("programs are compiled in the caller's context: it does not load what a context beside it compiled",
		"program", src.Name(), "error", err)
}

// Binary returns the binary that the program was loaded from, without a GL call, or else
// reads it as [Context.Binary] does.
func (b *Beside) Binary(ctx context.Context, id uint32) (format uint32, payload []byte, err error) {
	b.mu.Lock()
	binary, found := b.mu.binaries[id]
	delete(b.mu.binaries, id)
	b.mu.Unlock()
	if found {
		return binary.format, binary.payload, nil
	}
	return b.Context.Binary(ctx, id)
}

// Delete queues the deletion of a program and returns.
func (b *Beside) Delete(id uint32) {
	b.mu.Lock()
	delete(b.mu.binaries, id)
	b.mu.Unlock()
	b.Context.Delete(id)
}
