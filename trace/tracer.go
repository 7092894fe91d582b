package trace

import "time"

// Tracer receives events. Its method is called on any goroutine, the GL thread among
// them, several at a time: it has to return soon, and must not call what is traced.
type Tracer interface {
	// Event receives a piece of work that has ended, or an instant. It must not keep or
	// change Attrs after it has returned.
	Event(Event)
}

// Event is a piece of work of the process, or an instant.
//
// Events with the same Lane and Task lie one after another or within each other: they were
// made by one goroutine, or on one thread.
type Event struct {
	Lane    Lane
	Task    uint64 // which goroutine, context or transfer of the lane; numbers are not reused
	Name    string // one of the names of this package
	Program string // label of the program that it is about, "" where it is about none
	Key     string // of the program, in hexadecimal, where it is known
	Begin   time.Time
	Took    time.Duration
	Instant bool // Took is 0
	Attrs   []Attr
}

// End returns when the event ended.
func (e Event) End() time.Time { return e.Begin.Add(e.Took) }

// Attr is one attribute of an event. Value is a string, a bool, an int64 or a float64.
type Attr struct {
	Name  string
	Value any
}

// String, Int, Float and Bool return an attribute.
func String(name, value string) Attr        { return Attr{name, value} }
func Int(name string, value int64) Attr     { return Attr{name, value} }
func Float(name string, value float64) Attr { return Attr{name, value} }
func Bool(name string, value bool) Attr     { return Attr{name, value} }

// Attr returns the value of an attribute, or nil.
func (e Event) Attr(name string) any {
	for _, a := range e.Attrs {
		if a.Name == name {
			return a.Value
		}
	}
	return nil
}

// Lane is a kind of thread.
type Lane string

// The lanes, in the order in which pictures show them.
const (
	Process  Lane = "process"   // what the program itself does: its start, a command's phases
	Requests Lane = "requests"  // goroutines that wait for a program: what a caller sees
	Loads    Lane = "loads"     // goroutines that make a program: read, check, load, compile
	GL       Lane = "GL thread" // the thread of a context
	Writes   Lane = "writes"    // what the cache writes in the background
	Remote   Lane = "remote"    // the transfer from a remote
	Executor Lane = "executor"  // the jobs of an executor, by slot
	GPU      Lane = "GPU"       // kernels, by the GPU's clock
	Session  Lane = "session"   // ticks of a resident session
	Server   Lane = "server"    // jobs of a server's clients
)

// lanes are all lanes, in their order.
var lanes = []Lane{Process, Requests, Loads, GL, Writes, Remote, Executor, GPU, Session, Server}

// jobLanes are the lanes of what a process does again and again.
var jobLanes = []Lane{Executor, GPU, Session, Server}

// The names of events. What lies within another has its indent.
const (
	// Process.
	Start       = "start"        // the system and Go's runtime, until packages are initialised
	Packages    = "packages"     // further packages are initialised, and package main reads its arguments
	Command     = "command"      // of package main
	Open        = "open"         // the front door, until programs can be asked for
	DriverCache = "driver cache" //   the driver's own cache is found, merged and set
	OpenContext = "context"      //   EGL and the context
	NewCache    = "cache"        //   the cache's directory is opened
	NewExecutor = "executor"     //   an executor is made
	Merge       = "merge"        // what the driver stored for each child of a command, into one slot
	Close       = "close"

	// Requests.
	Get         = "get"          // a program was not resident: until its handle was returned
	BeforeFirst = "before first" //   the first request waits for what fills the directory
	Wait        = "wait"         //   for the load, on another goroutine; of Process: for a process that compiles the same
	Preload     = "preload"
	FirstUse    = "first use" // instant: the first Get of a program that a preload had made resident
	Unused      = "unused"    // instant, at Close: a program was preloaded, and never asked for
	Evict       = "evict"     // instant

	// Loads.
	Load     = "load"      // a program is made from its binary
	ReadBlob = "read blob" //   the file is read, its sum checked, and decompressed
	Compile  = "compile"   // one program, or several side by side

	// GL thread.
	EGLLoad        = "load libEGL"
	EGLDevices     = "devices"      // which displays there are
	EGLInitialize  = "initialize"   // eglInitialize
	EGLContext     = "make context" // eglCreateContext
	EGLMakeCurrent = "make current" // eglMakeCurrent
	Bindings       = "bindings"     // the addresses of GL's functions
	Slot           = "slot"         // waits until the driver's slot of this process is filled
	Describe       = "describe"     // what the context is: its fingerprint and limits
	ProgramBinary  = "binary"       // glProgramBinary
	Interface      = "interface"    // what the program binds
	FrontEnd       = "front end"    // glCompileShader and glLinkProgram
	BackEnd        = "back end"     // until the driver has compiled and linked
	Prime          = "prime"        // machine code, by a dispatch of no groups
	BinaryOut      = "read binary"  // glGetProgramBinary
	Callback       = "callback"     // of Context.Do, where it took over 0.1 ms

	// Writes.
	Write  = "write"  // to the store
	Flush  = "flush"  // statistics, and what is pending
	Settle = "settle" //   waits for what the driver still writes

	// Remote.
	Pull = "pull" // the packs that the directory lacks, from a remote
	Head = "head" //   which packs there are
	Pack = "pack" //   one is fetched, checked and installed

	// Executor. A batch is jobs that go to the GPU together.
	Submit   = "submit"   // a job is checked, and its inputs are copied
	Room     = "room"     //   it waits for room in a slot
	Fill     = "fill"     //   its inputs are written to mapped memory
	Batch    = "batch"    // from the first job until the GPU has finished all of them
	Queued   = "queued"   //   until the driver is given it
	Upload   = "upload"   //   copies to the GPU: the calls, and on the GPU's lane the work
	Kernel   = "kernel"   //   dispatches, the same
	Download = "download" //   copies from the GPU, the same

	// Session.
	Tick = "tick" // steps that are submitted together, until their end was seen
)
