package browsertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// message is a message of the protocol: a command, its result, or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// pipe is a connection to a browser.
type pipe struct {
	out io.Writer
	mu  struct {
		sync.Mutex
		last   int
		waits  map[int]chan message
		events map[string]func(message) // by session
		ended  error
	}
}

// callTime bounds a call: a busy machine needs seconds for the first page.
const callTime = 60 * time.Second

// newPipe returns a connection that reads from in until it ends.
func newPipe(in io.Reader, out io.Writer) *pipe {
	p := &pipe{out: out}
	p.mu.waits, p.mu.events = map[int]chan message{}, map[string]func(message){}
	go p.read(bufio.NewReaderSize(in, 1<<20))
	return p
}

func (p *pipe) read(in *bufio.Reader) {
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			p.end(fmt.Errorf("the browser has ended: %w", err))
			return
		}
		var m message
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m); err != nil {
			p.end(err)
			return
		}
		p.receive(m)
	}
}

// receive passes a message on to the call or the page that it is for.
func (p *pipe) receive(m message) {
	p.mu.Lock()
	wait, event := p.mu.waits[m.ID], p.mu.events[m.Session]
	delete(p.mu.waits, m.ID)
	p.mu.Unlock()
	switch {
	case wait != nil:
		wait <- m
	case m.Method != "" && event != nil:
		event(m)
	}
}

// end fails all calls, those to come too.
func (p *pipe) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.ended = err
	for id, wait := range p.mu.waits {
		close(wait)
		delete(p.mu.waits, id)
	}
}

// call has the browser carry out a command of a session, "" being that of the browser,
// and decodes its result into result, which may be nil.
func (p *pipe) call(session, method string, params, result any) error {
	m, wait, err := p.send(session, method, params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case reply, ok := <-wait:
		switch {
		case !ok:
			return fmt.Errorf("%s: the browser has ended", method)
		case reply.Error != nil:
			return fmt.Errorf("%s: %s", method, reply.Error.Message)
		case result != nil:
			return json.Unmarshal(reply.Result, result)
		}
		return nil
	case <-time.After(callTime):
		return fmt.Errorf("%s: no answer to call %d", method, m.ID)
	}
}

func (p *pipe) send(session, method string, params any) (m message, wait chan message, err error) {
	m = message{Session: session, Method: method}
	if m.Params, err = json.Marshal(params); err != nil {
		return m, nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.ended != nil {
		return m, nil, p.mu.ended
	}
	p.mu.last++
	m.ID = p.mu.last
	text, err := json.Marshal(m)
	if err != nil {
		return m, nil, err
	}
	wait = make(chan message, 1)
	p.mu.waits[m.ID] = wait
	_, err = p.out.Write(append(text, 0))
	return m, wait, err
}
