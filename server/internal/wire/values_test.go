package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/job"
)

// TestValuesThatNoFieldHas decodes bodies whose fields are there, with values beyond those that
// the protocol defines.
func TestValuesThatNoFieldHas(t *testing.T) {
	long := appendData(appendData(appendU16(nil, uint16(CodeCompile)), bytes.Repeat([]byte("x"), maxErrorText+1)), "")
	uniform := func(kind byte) []byte {
		body := (&Job{Job: job.Job{Dispatch: job.Dispatch{Uniforms: []job.Uniform{job.Int("n", 1)}}}}).Append(nil)
		body[len(body)-10] = kind
		return body
	}
	for want, bodies := range map[string]map[Message][]byte{
		"flags 0x8":                  {&Buffer{}: (&Buffer{Flags: allBufferFlags + 1}).Append(nil), &Plan{}: (&Plan{Flags: allBufferFlags + 1}).Append(nil)},
		"a form 3 of program":        {&Program{}: (&Program{Form: FormName + 1}).Append(nil)},
		"a kind 0 of object":         {&Release{}: (&Release{}).Append(nil), &Delete{}: (&Delete{}).Append(nil)},
		"a kind 5 of object":         {&Release{}: (&Release{Kind: KindPlan + 1}).Append(nil), &Delete{}: (&Delete{Kind: KindPlan + 1}).Append(nil)},
		"a kind 0 of uniform":        {&Job{}: uniform(0)},
		"a kind 4 of uniform":        {&Job{}: uniform(uniformFloat + 1)},
		"a place 4 of an operand":    {&Run{}: append(make([]byte, 12), 4)},
		"an error without a code":    {&Error{}: (&Error{}).Append(nil)},
		"a text of more than 262144": {&Error{}: long},
		"2 where 0 or 1":             {&WeightsReply{}: {2}},
	} {
		for into, body := range bodies {
			if err := into.Decode(body); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), want) {
				t.Errorf("%T: got %v, want %s", into, err, want)
			}
		}
	}
}
