package isolate

import (
	"encoding/json"
	"fmt"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
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
//	request                  {"program":{"name":"blur","key":"...","origin":"compiled","compile_ns":9000000}}
//	request                  {"program":{"name":"edge","key":"...","error":"..."}}
//	end of the input

// message is one line that a child writes.
type message struct {
	Ready        bool            `json:"ready,omitempty"`
	Error        string          `json:"error,omitempty"` // why it cannot start
	Hint         string          `json:"hint,omitempty"`
	ContextNanos int64           `json:"context_ns,omitempty"`
	Program      *programMessage `json:"program,omitempty"`
}

// programMessage is a cache.PreloadResult on its way to the parent.
type programMessage struct {
	Name         string     `json:"name"`
	Key          shader.Key `json:"key"`
	Origin       string     `json:"origin"`
	LoadNanos    int64      `json:"load_ns,omitempty"`
	PrimeNanos   int64      `json:"prime_ns,omitempty"`
	CompileNanos int64      `json:"compile_ns,omitempty"`
	Error        string     `json:"error,omitempty"`
	Log          string     `json:"log,omitempty"` // see ProgramError
	Quarantined  bool       `json:"quarantined,omitempty"`
	Recorded     bool       `json:"recorded,omitempty"`
	NotStored    bool       `json:"not_stored,omitempty"`
}

func (m *programMessage) result(index int) Result {
	r := Result{Index: index, Quarantined: m.Quarantined, Recorded: m.Recorded, PreloadResult: cache.PreloadResult{
		Name:         m.Name,
		Key:          m.Key,
		LoadNanos:    m.LoadNanos,
		PrimeNanos:   m.PrimeNanos,
		CompileNanos: m.CompileNanos,
	}}
	for o := cache.Compiled; o <= cache.Resident; o++ {
		if o.String() == m.Origin {
			r.Origin = o
		}
	}
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

// requestKey returns the key of the program of a request: one that EncodeSource made,
// or a key itself; else the zero key.
func requestKey(request string) shader.Key {
	if key, err := shader.ParseKey(request); err == nil {
		return key
	}
	if source, err := DecodeSource(request); err == nil {
		return source.Key()
	}
	return shader.Key{}
}

// sourceRequest is a source as a request.
type sourceRequest struct {
	Name  string   `json:"name"`
	Text  []byte   `json:"text"` // JSON strings would change what is not UTF-8
	Files []string `json:"files,omitempty"`
}

// EncodeSource returns a request with the whole text of a source, for [DecodeSource].
// A check of the source (shader.Source.WithCheck) stays behind.
func EncodeSource(source *shader.Source) string {
	line, err := json.Marshal(sourceRequest{source.Name(), []byte(source.Text()), source.Files()})
	if err != nil {
		panic(err) // strings can be encoded
	}
	return string(line)
}

// DecodeSource returns the source that EncodeSource encoded, with the same key.
func DecodeSource(request string) (*shader.Source, error) {
	var s sourceRequest
	if err := json.Unmarshal([]byte(request), &s); err != nil {
		return nil, fmt.Errorf("isolate: decode a source: %w", err)
	}
	return shader.NewFinalSource(s.Name, string(s.Text), s.Files), nil
}
