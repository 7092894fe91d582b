//go:build linux

package server

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// Status is the state of a server.
type Status struct {
	Version       string          `json:"version"`
	Protocol      int             `json:"protocol"`
	Generation    uint64          `json:"generation"` // of the worker process
	Ended         string          `json:"ended"`      // why the worker before this one ended
	UptimeSeconds float64         `json:"uptime_s"`
	Device        int             `json:"device"`  // number of the worker's GPU in the server
	Devices       int             `json:"devices"` // of the server
	UUID          string          `json:"uuid"`    // of the GPU, 32 hexadecimal digits; "" where the driver has none
	Error         string          `json:"error"`   // why the device has no worker that serves; "" where it has one
	GPU           string          `json:"gpu"`
	Driver        string          `json:"driver"`
	ZeroCopy      bool            `json:"zero_copy"` // jobs use shared memory in place: the driver has GL_AMD_pinned_memory
	Draining      bool            `json:"draining"`
	Sessions      []SessionStatus `json:"sessions"`
	NamedBuffers  int             `json:"named_buffers"`
	NamedPlans    int             `json:"named_plans"`
	NamedBytes    int64           `json:"named_bytes"`
	Counters      Counters        `json:"counters"`
	Failures      []FailedRequest `json:"failures"` // the last ones, the newest first
	Cache         cache.Stats     `json:"cache"`
	Executor      executor.Stats  `json:"executor"`
}

// SessionStatus is the state of one session.
type SessionStatus struct {
	ID         uint64 `json:"id"`
	Client     string `json:"client"`
	Requests   uint64 `json:"requests"`
	Unanswered int    `json:"unanswered"`
	Objects    int64  `json:"objects"`
	Bytes      int64  `json:"bytes"` // of shared memory, buffers and plans
}

// Counters count since the worker started.
type Counters struct {
	Sessions  uint64 `json:"sessions"`
	Refused   uint64 `json:"refused"` // connections: of another user, too many, or while draining
	Requests  uint64 `json:"requests"`
	Jobs      uint64 `json:"jobs"`   // that the GPU got, runs of plans included
	Failed    uint64 `json:"failed"` // requests that were answered with an error
	Deadlines uint64 `json:"deadlines"`
	Weights   uint64 `json:"weights"`   // of plans that were uploaded
	BytesIn   uint64 `json:"bytes_in"`  // of jobs, copies and weights
	BytesOut  uint64 `json:"bytes_out"` // of jobs and copies

	BusyNanos uint64 `json:"busy_ns"` // in which the GPU had jobs

	// Of bytes_in and bytes_out, those that were copied between the client and memory that
	// the device uses. Operands that are used in place are not.
	BytesCopied uint64 `json:"bytes_copied"`
}

// Status returns the state. It may be called at any time.
func (s *Server) Status() Status {
	info := s.context.Info()
	status := Status{
		Version: s.options.Version, Protocol: wire.Version, Generation: s.options.Generation, Ended: s.options.Ended,
		UptimeSeconds: time.Since(s.started).Seconds(),
		Device:        s.options.Device.Number, Devices: s.options.Device.Count, UUID: s.options.Device.UUID,
		GPU: info.GPU, Driver: info.Driver, ZeroCopy: s.zeroCopy, Sessions: []SessionStatus{},
		Counters: s.counters(), Failures: s.failures.list(), Cache: s.programs.Stats(), Executor: s.executor.Stats(),
	}
	var buffers, plans int64
	status.NamedBuffers, buffers = s.buffers.Count()
	status.NamedPlans, plans = s.plans.Count()
	status.NamedBytes = buffers + plans
	s.mu.Lock()
	defer s.mu.Unlock()
	status.Draining = s.isDraining()
	for each := range s.mu.sessions {
		status.Sessions = append(status.Sessions, each.status())
	}
	slices.SortFunc(status.Sessions, func(a, b SessionStatus) int { return cmp.Compare(a.ID, b.ID) })
	return status
}

func (s *Server) counters() Counters {
	n := &s.counts
	return Counters{
		Sessions: n.sessions.Load(), Refused: n.refused.Load(), Requests: n.requests.Load(), Jobs: n.jobs.Load(),
		Failed: n.failed.Load(), Deadlines: n.deadlines.Load(), Weights: n.weights.Load(), BytesIn: n.bytesIn.Load(), BytesOut: n.bytesOut.Load(), BytesCopied: n.bytesCopied.Load(),
		BusyNanos: n.busyNanos.Load(),
	}
}

func (s *session) status() SessionStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SessionStatus{
		ID: s.id, Client: s.client, Requests: s.mu.requests, Unanswered: len(s.mu.unanswered),
		Objects: s.objects.total.Load(), Bytes: s.objects.bytes.Load(),
	}
}

// message returns the status as a reply.
func (s Status) message() (wire.Message, error) {
	data, err := json.Marshal(s)
	return &wire.Data{Data: data}, err
}

// welcome is the reply to the hello of a session.
func (s *Server) welcome(session uint64) *wire.Welcome {
	info := s.context.Info()
	return &wire.Welcome{
		Version: wire.Version, Session: session, Generation: s.options.Generation,
		Server: short(s.options.Version), Device: short(info.GPU), Label: short(info.Fingerprint.Label()),
		Fingerprint: info.Fingerprint.Digest(), Limits: s.options.Limits, ZeroCopy: s.zeroCopy, Ended: short(s.options.Ended),
		Number: uint32(s.options.Device.Number), Devices: uint32(s.options.Device.Count), UUID: short(s.options.Device.UUID),
		Jobs: info.Limits,
	}
}

// short returns at most as many bytes as a name has.
func short(text string) []byte { return []byte(shortened(text, wire.MaxText)) }

// shortened returns at most n bytes of a text, as UTF-8.
func shortened(text string, n int) string {
	return strings.ToValidUTF8(text[:min(len(text), n)], "")
}
