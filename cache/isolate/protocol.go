package isolate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// The protocol: a child reads its limits, and writes a message when it is ready, or why
// it cannot start; then one message for each line that it reads, until its input ends. It
// reads standard input and writes to a descriptor that no driver writes to. A program
// that it answered is stored. An input that ends before the answer means that the parent
// has ended.
//
//	parent                   child
//	{"timeout_ns":120000000000,"memory_bytes":4294967296}
//	                         {"ready":true,"context_ns":81000000}
//	request                  {"programs":[{"name":"blur","key":"...","origin":"compiled","compile_ns":9000000}]}
//	request                  {"programs":[{"name":"edge","key":"...","error":"..."}]}
//	end of the input
//
// Programs that are stored already are requested in batches: a line with batchMark and
// their number, then as many requests, which have one reply. A result in it is null where
// the program has to be requested alone: it is not stored for the child's driver, a note
// says that a process ended with it, or it cannot be loaded.
//
//	\x1e2                    {"programs":[{"name":"blur",...},null]}
//	request
//	request

// batchMark begins the line before a batch. No request begins with it.
const batchMark = "\x1e"

// maxBatch is the number of requests in a batch: enough that messages cost little beside
// loading, few enough that little is requested again when a child is lost.
const maxBatch = 32

// encodeRequests returns a request, or several as a batch.
func encodeRequests(requests []string) string {
	if len(requests) == 1 {
		return requests[0]
	}
	return fmt.Sprintf("%s%d\n%s", batchMark, len(requests), strings.Join(requests, "\n"))
}

// batchSize returns the number of requests that follow a line, and false for a line that
// is a request.
func batchSize(line string) (n int, ok bool) {
	number, ok := strings.CutPrefix(line, batchMark)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(number)
	return n, err == nil && n > 0 && n <= maxBatch
}

// message is one line that a child writes.
type message struct {
	Ready        bool   `json:"ready,omitempty"`
	Error        string `json:"error,omitempty"` // why it cannot start
	Hint         string `json:"hint,omitempty"`
	ContextNanos int64  `json:"context_ns,omitempty"`

	Programs []*programMessage `json:"programs,omitempty"` // of a request or a batch
}

// programMessage is a Result on its way to the parent.
type programMessage struct {
	Result           // without its error
	Error     string `json:"error,omitempty"`
	Log       string `json:"log,omitempty"` // see ProgramError
	NotStored bool   `json:"not_stored,omitempty"`
}

func (m *programMessage) result(index int) Result {
	r := m.Result
	r.Index = index
	if m.Error != "" {
		failure := &ProgramError{Message: m.Error, Log: m.Log}
		switch {
		case m.Quarantined:
			failure.kind = binary.ErrQuarantined
		case m.NotStored:
			failure.kind = ErrNotStored
		}
		r.Err = failure
	}
	return r
}

// sourceRequest is a source as a request.
type sourceRequest struct {
	Name  string   `json:"name"`
	Text  []byte   `json:"text"` // JSON strings would change what is not UTF-8
	Files []string `json:"files,omitempty"`
}

// encodeSource returns a request with the whole text of a source, for decodeSource.
// A check of the source (shader.Source.WithCheck) stays behind.
func encodeSource(source *shader.Source) string {
	line, err := json.Marshal(sourceRequest{source.Name(), []byte(source.Text()), source.Files()})
	if err != nil {
		panic(err) // strings can be encoded
	}
	return string(line)
}

// decodeSource returns the source that encodeSource encoded, with the same key.
func decodeSource(request string) (*shader.Source, error) {
	var s sourceRequest
	if err := json.Unmarshal([]byte(request), &s); err != nil {
		return nil, fmt.Errorf("isolate: decode a source: %w", err)
	}
	return shader.NewFinalSource(s.Name, string(s.Text), s.Files), nil
}
