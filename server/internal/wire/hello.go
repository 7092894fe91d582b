package wire

import (
	"fmt"

	"github.com/shadercache/shadercache/job"
)

// Magic is the first field of a Hello, "SHDC" in the order of bytes.
const Magic = 0x43444853

// Hello is the first request of a client. The layout of its first fields, up to Client, is the
// same in all versions of the protocol. What follows them depends on the version, and is left
// out where the client asks for no device.
type Hello struct {
	Oldest, Newest uint16 // versions that the client speaks
	Client         []byte // name for the server's status, such as "python"

	Device []byte // number or UUID of the server's device that the session is for; empty: any
	Near   []byte // name of a buffer, on whose device the session is placed where there is one

	Other []byte // what follows Client in a hello without a common version, not read
}

// MaxHello is the most bytes of the frame of a Hello, with what later versions add behind Client.
const MaxHello = 4 << 10

func (m *Hello) layout(f *fields) {
	if !f.writes {
		m.Device, m.Near, m.Other = nil, nil, nil
	}
	magic := uint32(Magic)
	if word(f, &magic); magic != Magic {
		f.fail("a hello without the magic number")
	}
	half(f, &m.Oldest)
	half(f, &m.Newest)
	texts(f, &m.Client, MaxText)
	switch {
	case f.writes && len(m.Device)+len(m.Near) == 0:
		f.to = append(f.to, m.Other...)
		return
	case !f.writes && len(f.rest) == 0:
		return
	case !f.writes && m.CheckVersion() != nil: // of a later version, whose other fields are unknown
		m.Other = f.take(len(f.rest))
		return
	}
	texts(f, &m.Device, MaxText)
	texts(f, &m.Near, MaxText)
	if f.err == nil && len(m.Device)+len(m.Near) == 0 {
		f.fail("a hello with two empty texts")
	}
}

// Welcome is the reply to a Hello.
type Welcome struct {
	Version     uint16 // of the protocol, from now on
	Session     uint64 // number of the session
	Generation  uint64 // number of the worker process: 1, and 1 more after each restart
	Server      []byte // version of the server
	Device      []byte // as GL names it
	Label       []byte // of the driver's fingerprint, such as NVIDIA_H200
	Fingerprint [32]byte
	Limits      Limits
	ZeroCopy    bool   // jobs use operands in shared memory in place
	Ended       []byte // why the worker before this one ended; empty: it did not, or ended as it should
	Number      uint32 // of the session's device in the server, from 0
	Devices     uint32 // that the server has
	UUID        []byte // of the device, 32 hexadecimal digits; empty where the driver has none
	Jobs        job.Limits
}

// Limits are the quotas of a session.
type Limits struct {
	Jobs     uint32 // unanswered jobs, copies and runs
	Objects  uint32 // programs, memories, buffers and plans, of each kind
	Memory   uint64 // bytes of shared memory
	Buffers  uint64 // bytes of unnamed buffers and plans
	Named    uint64 // bytes of named buffers and plans, of all sessions together
	Deadline uint64 // nanoseconds: of a request that gives 0
	Longest  uint64 // nanoseconds: longer deadlines are shortened to this
}

func (m *Welcome) layout(f *fields) {
	half(f, &m.Version)
	long(f, &m.Session)
	long(f, &m.Generation)
	for _, v := range [...]*[]byte{&m.Server, &m.Device, &m.Label} {
		texts(f, v, MaxText)
	}
	f.bytes32(&m.Fingerprint)
	word(f, &m.Limits.Jobs)
	word(f, &m.Limits.Objects)
	for _, v := range [...]*uint64{&m.Limits.Memory, &m.Limits.Buffers, &m.Limits.Named, &m.Limits.Deadline, &m.Limits.Longest} {
		long(f, v)
	}
	f.bool(&m.ZeroCopy)
	texts(f, &m.Ended, MaxText)
	word(f, &m.Number)
	word(f, &m.Devices)
	texts(f, &m.UUID, MaxText)
	f.limits(&m.Jobs)
}

// limits are what the GPU allows jobs.
func (f *fields) limits(l *job.Limits) {
	for i := range l.MaxGroups {
		word(f, &l.MaxGroups[i])
	}
	for _, n := range [...]*int64{&l.MaxStorage, &l.MaxUniform, &l.MaxCounters} {
		long(f, n)
	}
	word(f, &l.StorageAlignment)
	word(f, &l.UniformAlignment)
	for i := range l.MaxVariableSize {
		word(f, &l.MaxVariableSize[i])
	}
	word(f, &l.MaxVariableInvocations)
}

// CheckVersion returns an Error with CodeVersion where this package does not speak a
// version in the range of a Hello.
func (m *Hello) CheckVersion() error {
	if m.Oldest <= Version && Version <= m.Newest {
		return nil
	}
	return &Error{
		Code:    CodeVersion,
		Message: fmt.Sprintf("the server speaks version %d of the protocol, the client %d to %d", Version, m.Oldest, m.Newest),
		Hint:    "use a client and a server of the same release",
	}
}
