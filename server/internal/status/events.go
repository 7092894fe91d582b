//go:build linux

package status

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// maxListeners is the number of pages that are fed at a time. Each takes a connection
	// and a status a second.
	maxListeners = 16

	eventTime  = time.Second     // between two events
	listenTime = 5 * time.Second // after which a page that reads nothing is given up
)

// places are for requests that take long: others find a connection meanwhile.
type places chan struct{}

func (p places) limit(long http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case p <- struct{}{}:
			defer func() { <-p }()
			long(w, r)
		default:
			w.Header().Set("Retry-After", "5")
			http.Error(w, fmt.Sprintf("%d such pages are open already", cap(p)), http.StatusServiceUnavailable)
		}
	}
}

// events feeds pages: each event is the server's status, as JSON in one line, in the format
// of server-sent events (WHATWG HTML, 9.2). While no page is open nothing runs.
type events struct {
	source Source
	every  time.Duration
	limit  time.Duration // for a page to read an event
}

func newEvents(source Source) *events { return &events{source, eventTime, listenTime} }

func (e *events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	tick := time.NewTicker(e.every)
	defer tick.Stop()
	for e.send(w) == nil {
		select {
		case <-tick.C:
		case <-r.Context().Done(): // the page is closed, or the server ends
			return
		}
	}
}

// send writes one event. It fails where the page reads nothing.
func (e *events) send(w http.ResponseWriter) error {
	data, err := json.Marshal(e.source.Status())
	if err != nil {
		return err
	}
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(e.limit)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
		return err
	}
	return control.Flush()
}
