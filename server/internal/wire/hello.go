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

// MaxHello is the most bytes of the frame of a Hello.
const MaxHello = HeaderSize + 8 + 3*(2+MaxText)

// Append appends the body to b.
func (m *Hello) Append(b []byte) []byte {
	b = appendU32(b, Magic)
	b = appendU16(b, m.Oldest)
	b = appendU16(b, m.Newest)
	b = appendText(b, m.Client)
	if len(m.Device)+len(m.Near) > 0 {
		b = appendText(appendText(b, m.Device), m.Near)
	}
	return append(b, m.Other...)
}

// Decode fills m in from a body. Of a hello without a common version it reads the first
// fields.
func (m *Hello) Decode(body []byte) error {
	f := fields{rest: body}
	m.Device, m.Near, m.Other = nil, nil, nil
	if f.u32() != Magic {
		f.fail("a hello without the magic number")
	}
	m.Oldest, m.Newest = f.u16(), f.u16()
	m.Client = f.text(MaxText)
	switch {
	case f.err != nil || len(f.rest) == 0:
	case m.CheckVersion() != nil:
		m.Other = f.take(len(f.rest))
	default:
		m.Device, m.Near = f.text(MaxText), f.text(MaxText)
		if f.err == nil && len(m.Device)+len(m.Near) == 0 {
			f.fail("a hello with two empty texts")
		}
	}
	return f.end()
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

// Append appends the body to b.
func (m *Welcome) Append(b []byte) []byte {
	b = appendU16(b, m.Version)
	b = appendU64(b, m.Session)
	b = appendU64(b, m.Generation)
	b = appendText(b, m.Server)
	b = appendText(b, m.Device)
	b = appendText(b, m.Label)
	b = append(b, m.Fingerprint[:]...)
	b = appendU32(b, m.Limits.Jobs)
	b = appendU32(b, m.Limits.Objects)
	for _, v := range []uint64{m.Limits.Memory, m.Limits.Buffers, m.Limits.Named, m.Limits.Deadline, m.Limits.Longest} {
		b = appendU64(b, v)
	}
	b = appendBool(b, m.ZeroCopy)
	b = appendText(b, m.Ended)
	b = appendU32(appendU32(b, m.Number), m.Devices)
	return appendLimits(appendText(b, m.UUID), &m.Jobs)
}

// appendLimits appends what the GPU allows jobs.
func appendLimits(b []byte, l *job.Limits) []byte {
	for _, n := range l.MaxGroups {
		b = appendU32(b, uint32(n))
	}
	for _, n := range []int64{l.MaxStorage, l.MaxUniform, l.MaxCounters} {
		b = appendU64(b, uint64(n))
	}
	b = appendU32(appendU32(b, uint32(l.StorageAlignment)), uint32(l.UniformAlignment))
	for _, n := range l.MaxVariableSize {
		b = appendU32(b, uint32(n))
	}
	return appendU32(b, uint32(l.MaxVariableInvocations))
}

func (f *fields) limits(l *job.Limits) {
	for i := range l.MaxGroups {
		l.MaxGroups[i] = int32(f.u32())
	}
	for _, n := range []*int64{&l.MaxStorage, &l.MaxUniform, &l.MaxCounters} {
		*n = int64(f.u64())
	}
	l.StorageAlignment, l.UniformAlignment = int(f.u32()), int(f.u32())
	for i := range l.MaxVariableSize {
		l.MaxVariableSize[i] = int32(f.u32())
	}
	l.MaxVariableInvocations = int32(f.u32())
}

// Decode fills m in from a body.
func (m *Welcome) Decode(body []byte) error {
	f := fields{rest: body}
	m.Version, m.Session, m.Generation = f.u16(), f.u64(), f.u64()
	m.Server, m.Device, m.Label = f.text(MaxText), f.text(MaxText), f.text(MaxText)
	m.Fingerprint = f.bytes32()
	m.Limits.Jobs, m.Limits.Objects = f.u32(), f.u32()
	for _, v := range []*uint64{&m.Limits.Memory, &m.Limits.Buffers, &m.Limits.Named, &m.Limits.Deadline, &m.Limits.Longest} {
		*v = f.u64()
	}
	m.ZeroCopy = f.flag()
	m.Ended = f.text(MaxText)
	m.Number, m.Devices = f.u32(), f.u32()
	m.UUID = f.text(MaxText)
	f.limits(&m.Jobs)
	return f.end()
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
