//go:build linux

package resident

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/glctx"
)

// Value is the value of a variable of a kernel's state at a boundary.
type Value struct {
	Name   string
	Base   string
	Words  []uint32 // of all elements, one after the other, without padding
	Vector int      // words of an element
}

// Uint returns the first word.
func (v Value) Uint() uint32 { return v.Words[0] }

// Float returns the first word as a float.
func (v Value) Float() float32 { return math.Float32frombits(v.Words[0]) }

// Floats returns all words as floats.
func (v Value) Floats() []float32 {
	list := make([]float32, len(v.Words))
	for i, w := range v.Words {
		list[i] = math.Float32frombits(w)
	}
	return list
}

// State reads a variable of the kernel's storage blocks by its name, as in
// "energy", "cells" for the whole array, "cells[7]" or "bodies[3].speed", at the
// next boundary. It fails for a name that the kernel does not use.
func (s *Session) State(ctx context.Context, name string) (v Value, err error) {
	failed := s.onGL(ctx, func(gl *glctx.GL, m *memory) error {
		v, err = m.readByName(gl, name)
		return err
	})
	return v, failed
}

// readByName finds a variable by its name and reads it.
func (m *memory) readByName(gl *glctx.GL, name string) (Value, error) {
	if m.variables == nil {
		list, err := gl.Variables(m.program)
		if err != nil {
			return Value{}, err
		}
		m.variables = list
	}
	for _, v := range m.variables {
		state := m.findState(v.Block)
		if state == nil || v.Words == 0 {
			continue
		}
		at, count, ok := elementsOf(v, name, state.buffer.Size)
		if !ok {
			continue
		}
		return readVariable(gl, v, name, state.buffer, at, count)
	}
	return Value{}, fmt.Errorf("resident: the kernel uses no variable %s", name)
}

// index matches an index in a name.
var index = regexp.MustCompile(`\[(\d+)\]`)

// elementsOf returns the offset and the number of elements of v that name means, and
// reports whether it means any.
func elementsOf(v glctx.Variable, name string, size int) (at, count int, ok bool) {
	if index.ReplaceAllString(name, "[0]") == v.Name {
		at, ok = elementOffset(v, name)
		return at, 1, ok && at+4*v.Words <= size
	}
	if name+"[0]" != v.Name || v.Stride == 0 {
		return 0, 0, false
	}
	count = v.Length
	if count == 0 {
		count = (size - v.Offset) / v.Stride
	}
	return v.Offset, count, count > 0 && v.Offset+(count-1)*v.Stride+4*v.Words <= size
}

// elementOffset returns the offset of the element of v that a full name means. Indices
// between the outermost array and the last one must be those of v: GL lists such
// elements as variables of their own.
func elementOffset(v glctx.Variable, name string) (at int, ok bool) {
	wanted, listed := index.FindAllStringSubmatch(name, -1), index.FindAllStringSubmatch(v.Name, -1)
	at = v.Offset
	for i, a := range wanted {
		n, err := strconv.Atoi(a[1])
		if err != nil || n > math.MaxInt32 {
			return 0, false
		}
		last := i == len(wanted)-1 && strings.HasSuffix(v.Name, "]")
		switch {
		case last && v.Stride > 0:
			if v.Length > 0 && n >= v.Length {
				return 0, false
			}
			at += n * v.Stride
		case i == 0 && v.TopStride > 0:
			at += n * v.TopStride
		case a[1] != listed[i][1]:
			return 0, false
		}
	}
	return at, true
}

// readVariable reads count elements of v from offset at on.
func readVariable(gl *glctx.GL, v glctx.Variable, name string, b glctx.Buffer, at, count int) (Value, error) {
	value := Value{Name: name, Base: v.Base, Vector: v.Words, Words: make([]uint32, 0, count*v.Words)}
	bytes := 4 * v.Words
	if count > 1 {
		bytes += (count - 1) * v.Stride
	}
	raw := make([]uint32, bytes/4)
	gl.Download(b, at, glctx.Bytes(raw))
	for i := range count {
		value.Words = append(value.Words, raw[i*v.Stride/4:][:v.Words]...)
	}
	return value, gl.Err()
}
