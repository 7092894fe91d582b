package wire

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
)

// TestValuesThatNoFieldHas decodes bodies whose fields are there, with values beyond those that
// the protocol defines.
func TestValuesThatNoFieldHas(t *testing.T) {
	long := slices.Concat([]byte{byte(CodeCompile), 0, 1, 0, 4, 0}, bytes.Repeat([]byte("x"), maxErrorText+1), make([]byte, 4))
	uniform := func(kind byte) []byte {
		body := Append(nil, &Job{Job: job.Job{Dispatch: job.Dispatch{Uniforms: []job.Uniform{job.Int("n", 1)}}}})
		body[len(body)-12] = kind
		return body
	}
	binding := func(flags byte) []byte {
		body := Append(nil, &Job{Job: job.Job{Dispatch: job.Dispatch{Buffers: []job.Bound{{}}}}})
		body[len(body)-24] = flags
		return body
	}
	// dispatch and more are jobs that have what follows a dispatch, and all dispatches.
	plain := Append(nil, &Job{})
	dispatch := func(has byte, rest ...byte) []byte {
		return slices.Concat(plain[:len(plain)-2], []byte{has}, rest, []byte{0})
	}
	more := func(has byte, rest ...byte) []byte { return slices.Concat(plain[:len(plain)-1], []byte{has}, rest) }
	components := func(kind, n byte) []byte {
		return slices.Concat(plain[:len(plain)-6], []byte{1, 0, kind, n, 0, 0, 0}, make([]byte, n), make([]byte, 6))
	}
	for want, bodies := range map[string]map[Message][]byte{
		"flags 0x4":                  {&Buffer{}: Append(nil, &Buffer{Flags: Exact})},
		"flags 0x8":                  {&Plan{}: Append(nil, &Plan{Flags: Exact << 1})},
		"a form 3 of program":        {&Program{}: Append(nil, &Program{Form: FormName + 1})},
		"a kind 0 of object":         {&Release{}: Append(nil, &Release{}), &Delete{}: Append(nil, &Delete{})},
		"a kind 6 of object":         {&Release{}: Append(nil, &Release{Kind: KindTexture + 1}), &Delete{}: Append(nil, &Delete{Kind: KindTexture + 1})},
		"a kind 0 of uniform":        {&Job{}: uniform(0)},
		"a kind 8 of uniform":        {&Job{}: uniform(uniformDoubles + 1)},
		"flags 0x4 of a binding":     {&Job{}: binding(4)},
		"a place 5 of an operand":    {&Run{}: append(make([]byte, 12), 5)},
		"bits 0x20 of a dispatch":    {&Job{}: dispatch(allOfDispatch + 1)},
		"bits 0x8 of a job":          {&Job{}: more(allOfJob + 1)},
		"a list without elements":    {&Job{}: dispatch(hasBlocks, 0, 0), &Job{Deadline: 1}: more(hasCounters, 0, 0)},
		"a size of work groups of 0": {&Job{}: dispatch(hasGroupSize, make([]byte, 12)...)},
		"a list of 2 elements in":    {&Job{}: dispatch(hasImages, append([]byte{2, 0}, make([]byte, 38)...)...)},
		"uniform block at binding 7": {&Job{}: dispatch(hasBlocks, append([]byte{1, 0, 7, 0, 0, 0, 0}, make([]byte, 20)...)...)},
		"4 bytes of components":      {&Job{}: components(uniformInts, 4)},
		"10 bytes of components":     {&Job{}: components(uniformFloats, 10)},
		"12 bytes of components":     {&Job{}: components(uniformDoubles, 12)},
		"counters at binding 7 are neither": {
			&Job{}:            more(hasCounters, 1, 0, 7, 0, 0, 0, 1, 3, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0),
			&Job{Deadline: 1}: more(hasCounters, append([]byte{1, 0, 7, 0, 0, 0, 2}, make([]byte, 24)...)...),
		},
		"a size of a buffer that has the rest": {
			&Job{}: more(hasCounters, append([]byte{1, 0, 7, 0, 0, 0, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4}, make([]byte, 11)...)...),
		},
		"262145 counters in a reply": {&Job{}: more(hasCounters, 1, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 4, 0)},
		"262144 counters in a reply": {&Job{}: more(hasCounters, 2, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4, 0)},
		"an error without a code":    {&Error{}: Append(nil, &Error{})},
		"a text of more than 262144": {&Error{}: long},
		"2 where 0 or 1":             {&WeightsReply{}: {2}},
	} {
		for into, body := range bodies {
			if err := Decode(body, into); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), want) {
				t.Errorf("%T: got %v, want %s", into, err, want)
			}
		}
	}
}

// TestNumbersOfFormats compares the numbers of formats with the list of the protocol's page.
func TestNumbersOfFormats(t *testing.T) {
	page, err := os.ReadFile("../../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "Formats are numbered from 1, in this order:")
	list, _, _ = strings.Cut(list, ".")
	words := regexp.MustCompile(`(depth_component|[a-z]+)\d+\w*`).FindAllString(list, -1)
	if len(words) != len(texel.Formats()) {
		t.Fatalf("the page has %d formats", len(words))
	}
	for i, word := range words {
		var got Texture
		body := Append(nil, &Texture{Shape: texel.Shape{Format: texel.Format(word)}})
		if err := Decode(body, &got); err != nil || body[5] != byte(i+1) || got.Shape.Format != texel.Format(word) {
			t.Errorf("%s has the number %d, and not %d: %v", word, body[5], i+1, err)
		}
	}
}
