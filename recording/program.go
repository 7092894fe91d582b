package recording

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// Program is one program as an application linked it.
type Program struct {
	Context    Context
	Separable  bool        // GL_PROGRAM_SEPARABLE
	Created    bool        // by glCreateShaderProgramv
	Stages     []Stage     // in the order of attachment
	Attributes []Attribute // of glBindAttribLocation
	Outputs    []Output    // of glBindFragDataLocationIndexed
	Feedback   *Feedback   // of glTransformFeedbackVaryings; nil where there is none

	Retrievable bool // GL_PROGRAM_BINARY_RETRIEVABLE_HINT
}

// StageKind is the type of a shader, as glCreateShader takes it.
type StageKind uint32

// The values of StageKind, in the order of the pipeline.
const (
	Vertex         StageKind = 0x8B31
	TessControl    StageKind = 0x8E88
	TessEvaluation StageKind = 0x8E87
	Geometry       StageKind = 0x8DD9
	Fragment       StageKind = 0x8B30
	Compute        StageKind = 0x91B9
)

var stageNames = map[StageKind]string{
	Vertex: "vertex", TessControl: "tess-control", TessEvaluation: "tess-evaluation",
	Geometry: "geometry", Fragment: "fragment", Compute: "compute",
}

func (k StageKind) String() string {
	if name, known := stageNames[k]; known {
		return name
	}
	return fmt.Sprintf("stage 0x%04X", uint32(k))
}

// Stage is one shader of a program.
type Stage struct {
	Kind   StageKind
	Text   string  // GLSL, byte for byte as the driver got it
	Module *Module // SPIR-V; nil for GLSL
}

// Bytes returns the length of the text, or of the module.
func (s Stage) Bytes() int {
	if s.Module != nil {
		return len(s.Module.Code)
	}
	return len(s.Text)
}

// Module is a SPIR-V module with its specialization.
type Module struct {
	Code       []byte
	EntryPoint string
	Constants  []Constant
}

// Constant is the value of a specialization constant.
type Constant struct {
	Index uint32 `json:"index"`
	Value uint32 `json:"value"`
}

// Attribute is the location of a vertex attribute.
type Attribute struct {
	Location uint32 `json:"location"`
	Name     string `json:"name"`
}

// Output is the colour number of an output of the fragment stage.
type Output struct {
	Number uint32 `json:"number"` // of the colour
	Index  uint32 `json:"index"`
	Name   string `json:"name"`
}

// Feedback is the list of outputs that transform feedback captures.
type Feedback struct {
	Mode     uint32 // GL_INTERLEAVED_ATTRIBS or GL_SEPARATE_ATTRIBS
	Varyings []string
}

// mostStageNames is the number of stages that StageNames names. The pipeline has six kinds.
const mostStageNames = 8

// StageNames returns the kinds of the stages: "compute", "vertex+fragment". Of a program with
// thousands it names the first ones.
func (p *Program) StageNames() string {
	var names []string
	for _, s := range p.Stages[:min(len(p.Stages), mostStageNames)] {
		names = append(names, s.Kind.String())
	}
	if more := len(p.Stages) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, "+")
}

// Has reports whether the program has a stage of a kind.
func (p *Program) Has(kind StageKind) bool {
	return slices.ContainsFunc(p.Stages, func(s Stage) bool { return s.Kind == kind })
}

// SourceBytes returns the length of all texts and modules.
func (p *Program) SourceBytes() (total int) {
	for _, s := range p.Stages {
		total += s.Bytes()
	}
	return total
}

// magic begins the file of a program.
const magic = "SCPROG1\n"

// Tags of the fields of a program's file.
const (
	tagContext     = 1
	tagSeparable   = 2
	tagCreated     = 3
	tagStage       = 4
	tagAttribute   = 5
	tagOutput      = 6
	tagFeedback    = 7
	tagRetrievable = 8
)

// Forms of a stage.
const (
	formGLSL  = 1
	formSPIRV = 2
)

// Limits of what is read.
const (
	maxFieldBytes = 64 << 20
	maxFileBytes  = 256 << 20
	maxFields     = 1 << 14 // and as many names of a field: each takes more memory than bytes
)

// Digest returns the name of the program in a recording: the SHA-256 of its file.
func (p *Program) Digest() shader.Digest { return sha256.Sum256(p.Encode()) }

// Encode returns the file of the program.
func (p *Program) Encode() []byte {
	out := []byte(magic)
	field := func(tag uint32, content []byte) {
		out = binary.LittleEndian.AppendUint32(out, tag)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(content)))
		out = append(out, content...)
	}
	c := p.Context
	field(tagContext, words(uint32(c.API), c.Major, c.Minor, c.Profile, c.Flags))
	if p.Separable {
		field(tagSeparable, words(1))
	}
	if p.Created {
		field(tagCreated, words(1))
	}
	for _, s := range p.Stages {
		field(tagStage, s.encode())
	}
	for _, a := range p.Attributes {
		field(tagAttribute, append(words(a.Location), a.Name...))
	}
	for _, o := range p.Outputs {
		field(tagOutput, append(words(o.Number, o.Index), o.Name...))
	}
	if p.Feedback != nil {
		content := words(p.Feedback.Mode)
		for _, name := range p.Feedback.Varyings {
			content = append(append(content, name...), 0)
		}
		field(tagFeedback, content)
	}
	if p.Retrievable {
		field(tagRetrievable, words(1))
	}
	return out
}

func (s Stage) encode() []byte {
	if s.Module == nil {
		return append(words(uint32(s.Kind), formGLSL), s.Text...)
	}
	m := s.Module
	out := append(words(uint32(s.Kind), formSPIRV, uint32(len(m.EntryPoint))), m.EntryPoint...)
	out = append(out, words(uint32(len(m.Constants)))...)
	for _, c := range m.Constants {
		out = append(out, words(c.Index, c.Value)...)
	}
	return append(out, m.Code...)
}

// words returns numbers in little endian.
func words(values ...uint32) (out []byte) {
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return out
}
