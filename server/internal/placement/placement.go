//go:build linux

package placement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/supervisor"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// Options configure a [Placement].
type Options struct {
	// IdleExit is the time without a session after which Serve returns. Default: 0, never.
	IdleExit time.Duration

	// Logger receives sessions that could not be placed. Default: nothing is logged.
	Logger *slog.Logger
}

// Placement passes the clients of one socket to the workers of several devices. Its methods may
// be called from any goroutine.
type Placement struct {
	options Options
	devices []*Device
	lobby   *socket.Lobby
	idle    chan struct{} // closed when there was no session for IdleExit

	mu struct {
		sync.Mutex
		names   map[string]int // number of the device that has a named buffer
		changed chan struct{}  // closed, and made again, when a device serves or failed
		timer   *time.Timer    // of IdleExit; nil: there are sessions
		isIdle  bool
		waiting int // clients, until a device serves
	}
}

const (
	helloTime  = 10 * time.Second // in which a client has to send its hello
	maxWaiting = 256              // clients that are not placed yet; further ones wait in the socket's queue
)

// New returns a placement on devices that are numbered from 0, none of which serves yet.
func New(devices int, o Options) *Placement {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	p := &Placement{options: o, lobby: socket.NewLobby(), idle: make(chan struct{})}
	p.mu.names = map[string]int{}
	p.mu.changed = make(chan struct{})
	for number := range devices {
		p.devices = append(p.devices, &Device{placement: p, number: number})
	}
	return p
}

// Device returns the device of a number.
func (p *Placement) Device(number int) *Device { return p.devices[number] }

// Serve accepts clients until ctx ends or there was no session for IdleExit: then it returns
// nil, else the error of the socket. The caller closes l.
func (p *Placement) Serve(ctx context.Context, l *socket.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, func() { l.UnixListener.Close() })
	failed := make(chan error, 1)
	go func() { failed <- p.accept(ctx, l) }()
	select {
	case <-ctx.Done():
	case <-p.idle:
	case err := <-failed:
		return err
	}
	stop()
	return <-failed
}

func (p *Placement) accept(ctx context.Context, l *socket.Listener) error {
	waiting := make(chan struct{}, maxWaiting)
	for {
		waiting <- struct{}{}
		u, err := l.AcceptSocket()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("server: accept: %w", err)
		}
		_ = u.SetReadDeadline(time.Now().Add(helloTime))
		p.lobby.Enter(u)
		go func() {
			defer func() { <-waiting }()
			if err := p.place(ctx, u); err != nil {
				p.options.Logger.Debug("a client was not placed", "reason", err)
			}
		}()
	}
}

// place passes a client to a worker.
func (p *Placement) place(ctx context.Context, u *net.UnixConn) (err error) {
	defer func() {
		if err != nil {
			if reply, ok := errors.AsType[*wire.Error](err); ok {
				frame, _ := wire.AppendFrame(nil, wire.TypeError, 0, reply)
				_, _ = u.Write(frame) // the first one: it does not wait
			}
			_ = socket.CloseUnread(u)
			return
		}
		u.Close() // the worker has it
	}()
	frame, hello, err := socket.ReadHello(u)
	p.lobby.Leave(u)
	if err != nil {
		return err
	}
	file, err := u.File()
	if err != nil {
		return err
	}
	defer file.Close()
	d, link, err := p.choose(ctx, &hello)
	if err != nil {
		return err
	}
	err = link.Send(supervisor.Message{Word: wordSession, Text: string(frame), File: file})
	if err != nil {
		d.left(link)
	}
	return err
}

// choose returns the device for a client, with one session more, and its link. It waits until
// there is one, but with so many others only where no device serves.
func (p *Placement) choose(ctx context.Context, hello *wire.Hello) (*Device, *supervisor.Link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ctx.Err() == nil {
		if d := p.leastLoaded(hello); d != nil {
			d.sessions++
			p.watchIdle()
			return d, d.link, nil
		}
		if p.mu.waiting >= maxWaiting/2 && slices.ContainsFunc(p.devices, func(d *Device) bool { return d.link != nil }) {
			return nil, nil, &wire.Error{Code: wire.CodeQuota, Message: fmt.Sprintf("the device does not serve, and %d clients wait already", p.mu.waiting)}
		}
		changed := p.mu.changed
		p.mu.waiting++
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		p.mu.Lock()
		p.mu.waiting--
	}
	return nil, nil, ctx.Err()
}

// leastLoaded returns the first device with the fewest sessions of those that may serve a
// client, or nil where none of them serves now. mu is held.
func (p *Placement) leastLoaded(hello *wire.Hello) *Device {
	var best *Device
	for _, d := range p.candidates(hello) {
		if d.link != nil && (best == nil || d.sessions < best.sessions) {
			best = d
		}
	}
	return best
}

// candidates returns the devices that may serve a client. Where it asks for one that there is
// not, any refuses it. mu is held.
func (p *Placement) candidates(hello *wire.Hello) []*Device {
	if len(hello.Device) == 0 {
		if number, found := p.mu.names[string(hello.Near)]; found {
			return p.devices[number : number+1]
		}
		return p.devices
	}
	var asked []*Device
	unknown := false // a device that never served may be the one
	for _, d := range p.devices {
		unknown = unknown || d.uuid == nil && !d.failed
		if d.is(string(hello.Device)) && !d.failed {
			asked = append(asked, d)
		}
	}
	if asked == nil && !unknown {
		return p.devices
	}
	return asked
}

// change wakes those that wait for a device. mu is held.
func (p *Placement) change() {
	close(p.mu.changed)
	p.mu.changed = make(chan struct{})
}

// watchIdle starts or stops the timer of IdleExit, which begins when the first device serves.
// mu is held.
func (p *Placement) watchIdle() {
	if p.options.IdleExit <= 0 {
		return
	}
	switch sessions := p.sessions(); {
	case sessions > 0 && p.mu.timer != nil:
		p.mu.timer.Stop()
		p.mu.timer = nil
	case sessions == 0 && p.mu.timer == nil:
		p.mu.timer = time.AfterFunc(p.options.IdleExit, p.endIdle)
	}
}

func (p *Placement) endIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions() == 0 && !p.mu.isIdle {
		p.mu.isIdle = true
		close(p.idle)
	}
}

// sessions returns the sessions of all devices. mu is held.
func (p *Placement) sessions() (n int) {
	for _, d := range p.devices {
		n += d.sessions
	}
	return n
}
