package recording

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// decodeProgram returns the program of a file's content. It returns an error that matches
// ErrDamaged for content that no recorder writes, and for a tag of a later version. What
// it returns may be given to a driver, whose compiler checks the texts.
func decodeProgram(data []byte) (*Program, error) {
	if len(data) > maxFileBytes {
		return nil, damaged("it has %d bytes, and at most %d are possible", len(data), maxFileBytes)
	}
	rest, found := bytes.CutPrefix(data, []byte(magic))
	if !found {
		return nil, damaged("it does not begin with %q", magic)
	}
	p, fields := &Program{}, 0
	for last := uint32(0); len(rest) > 0; {
		if fields++; fields > maxFields {
			return nil, damaged("it has more than %d fields", maxFields)
		}
		if len(rest) < 8 {
			return nil, damaged("it ends within a field")
		}
		tag, size := word(rest, 0), word(rest, 4)
		rest = rest[8:]
		if size > maxFieldBytes {
			return nil, damaged("field %d has %d bytes, and at most %d are possible", tag, size, maxFieldBytes)
		}
		if uint64(size) > uint64(len(rest)) {
			return nil, damaged("field %d has %d bytes, and %d follow", tag, size, len(rest))
		}
		if tag < last || tag == last && !repeats(tag) {
			return nil, damaged("field %d follows field %d", tag, last)
		}
		if last == 0 && tag != tagContext {
			return nil, damaged("its first field is %d and not the context", tag)
		}
		if err := p.decodeField(tag, rest[:size]); err != nil {
			return nil, err
		}
		rest, last = rest[size:], tag
	}
	return p, p.check()
}

// repeats reports whether a program may have several fields with a tag.
func repeats(tag uint32) bool {
	return tag == tagStage || tag == tagAttribute || tag == tagOutput
}

// fixedBytes is the length of the numbers at the begin of each field.
var fixedBytes = map[uint32]int{
	tagContext: 20, tagSeparable: 4, tagCreated: 4, tagStage: 8, tagAttribute: 4, tagOutput: 8, tagFeedback: 4,
	tagRetrievable: 4,
}

// isFixed reports whether a field has nothing after its numbers.
func isFixed(tag uint32) bool { return tag <= tagCreated || tag == tagRetrievable }

func (p *Program) decodeField(tag uint32, content []byte) (err error) {
	fixed, known := fixedBytes[tag]
	if !known {
		return damaged("it has a field with tag %d, which this version does not know: is it of a later recorder?", tag)
	}
	if len(content) < fixed || isFixed(tag) && len(content) > fixed {
		return damaged("field %d has %d bytes", tag, len(content))
	}
	rest := content[fixed:]
	switch tag {
	case tagContext:
		p.Context = Context{API(word(content, 0)), word(content, 4), word(content, 8), word(content, 12), word(content, 16)}
		return p.Context.check()
	case tagSeparable:
		p.Separable, err = decodeBool(tag, content)
	case tagCreated:
		p.Created, err = decodeBool(tag, content)
	case tagStage:
		var s Stage
		s, err = decodeStage(StageKind(word(content, 0)), word(content, 4), rest)
		p.Stages = append(p.Stages, s)
	case tagAttribute:
		p.Attributes = append(p.Attributes, Attribute{word(content, 0), string(rest)})
		err = checkName(rest)
	case tagOutput:
		p.Outputs = append(p.Outputs, Output{word(content, 0), word(content, 4), string(rest)})
		err = checkName(rest)
	case tagFeedback:
		p.Feedback, err = decodeFeedback(word(content, 0), rest)
	case tagRetrievable:
		p.Retrievable, err = decodeBool(tag, content)
	}
	return err
}

func decodeBool(tag uint32, content []byte) (bool, error) {
	v := word(content, 0)
	if v > 1 {
		return false, damaged("field %d is %d, neither 0 nor 1", tag, v)
	}
	return v == 1, nil
}

func decodeStage(kind StageKind, form uint32, content []byte) (Stage, error) {
	s := Stage{Kind: kind}
	if _, known := stageNames[kind]; !known {
		return s, damaged("it has a shader of the unknown type 0x%04X", uint32(kind))
	}
	switch form {
	case formGLSL:
		s.Text = string(content)
		return s, nil
	case formSPIRV:
		m, err := decodeModule(content)
		s.Module = m
		return s, err
	}
	return s, damaged("its %s shader has the unknown form %d", kind, form)
}

// spirvMagic is the first word of a SPIR-V module.
const spirvMagic = 0x07230203

func decodeModule(content []byte) (*Module, error) {
	cut := func(n uint64) (part []byte, ok bool) {
		if n > uint64(len(content)) {
			return nil, false
		}
		part, content = content[:n], content[n:]
		return part, true
	}
	m := &Module{}
	length, ok := cut(4)
	if !ok {
		return nil, damaged("a SPIR-V shader ends before its entry point")
	}
	entry, ok := cut(uint64(word(length, 0)))
	if !ok {
		return nil, damaged("a SPIR-V shader ends within its entry point")
	}
	if err := checkName(entry); err != nil {
		return nil, err
	}
	m.EntryPoint = string(entry)
	count, ok := cut(4)
	if !ok {
		return nil, damaged("a SPIR-V shader ends before its constants")
	}
	pairs, ok := cut(8 * uint64(word(count, 0)))
	if !ok {
		return nil, damaged("a SPIR-V shader ends within its constants")
	}
	for ; len(pairs) > 0; pairs = pairs[8:] {
		m.Constants = append(m.Constants, Constant{word(pairs, 0), word(pairs, 4)})
	}
	if len(content) < 20 || len(content)%4 != 0 || word(content, 0) != spirvMagic && binary.BigEndian.Uint32(content) != spirvMagic {
		return nil, damaged("a SPIR-V shader has no module")
	}
	m.Code = bytes.Clone(content)
	return m, nil
}

func decodeFeedback(mode uint32, content []byte) (*Feedback, error) {
	f := &Feedback{Mode: mode}
	if len(content) > 0 && content[len(content)-1] != 0 {
		return nil, damaged("the names of transform feedback do not end in a zero byte")
	}
	if n := bytes.Count(content, []byte{0}); n > maxFields {
		return nil, damaged("transform feedback has %d names, and at most %d are possible", n, maxFields)
	}
	for len(content) > 0 {
		name, rest, _ := bytes.Cut(content, []byte{0})
		f.Varyings, content = append(f.Varyings, string(name)), rest
	}
	return f, nil
}

// checkName returns an error for a name that would be cut where GL reads it.
func checkName(name []byte) error {
	if len(name) == 0 || bytes.IndexByte(name, 0) >= 0 {
		return damaged("a name is empty or has a zero byte")
	}
	return nil
}

// check returns an error for fields that contradict each other.
func (p *Program) check() error {
	switch {
	case len(p.Stages) == 0:
		return damaged("it has no shader")
	case p.Created && (len(p.Stages) != 1 || p.Stages[0].Module != nil):
		return damaged("glCreateShaderProgramv takes one shader of GLSL")
	case p.Created && strings.IndexByte(p.Stages[0].Text, 0) >= 0:
		return damaged("a text for glCreateShaderProgramv has a zero byte")
	}
	return nil
}

// word returns the number at an offset.
func word(data []byte, at int) uint32 { return binary.LittleEndian.Uint32(data[at:]) }
