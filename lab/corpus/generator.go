package corpus

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"strings"
	"text/template"
)

// choices are the values of the parameters of a template.
var choices = struct {
	locals      []int
	types       []string
	combines    []string
	activations []string
}{
	locals:      []int{16, 32, 64, 128},
	types:       []string{"float", "int", "uint"},
	combines:    []string{"sum + values[i]", "max(sum, values[i])", "min(sum, values[i])", "sum + values[i] * values[i]"},
	activations: []string{"sum", "max(sum, 0.0)", "tanh(sum)", "sum / (1.0 + exp(-sum))"},
}

// parameters are what a template may use.
type parameters struct {
	Head       string // #version and what belongs to it
	Local      int
	Type       string
	Combine    string
	Activation string
	Axis       string
	Radius     int // 1 to 9
	Small      int // 1 to 3
	Tile       int
	Bins       int
	Integer    int    // different in each program
	Constant   string // the same as a number with a fraction
	Flag       bool
}

// generator generates one corpus.
type generator struct {
	*writer
	Options
	random   *rand.Rand
	families []*template.Template
	contents Contents
	alone    []string // healthy texts that include nothing
}

func newGenerator(o Options, w *writer) *generator {
	g := &generator{writer: w, Options: o, random: rand.New(rand.NewPCG(o.Seed, 1))}
	names, _ := fs.Glob(templates, "templates/*.tmpl")
	for _, name := range names {
		data, err := templates.ReadFile(name)
		if err != nil {
			panic(err)
		}
		family := strings.TrimSuffix(path.Base(name), ".tmpl")
		g.families = append(g.families, template.Must(template.New(family).Parse(string(data))))
	}
	return g
}

// healthy writes the programs that compile.
func (g *generator) healthy() {
	for i := range g.Programs {
		family := g.families[i%len(g.families)]
		p := g.parameters(i)
		text := render(family, p)
		g.file(fmt.Sprintf("%s/%s/%s_%04d.comp", SourceDir, family.Name(), family.Name(), i), text)
		g.contents.Healthy++
		if strings.HasPrefix(text, "#version 460") {
			g.contents.Newer++
		} else if !strings.Contains(text, "#include") {
			g.alone = append(g.alone, text)
		}
	}
}

func render(t *template.Template, p parameters) string {
	var b strings.Builder
	if err := t.Execute(&b, p); err != nil {
		panic(err) // templates are shipped
	}
	return b.String()
}

func (g *generator) parameters(i int) parameters {
	r := g.random
	return parameters{
		Head:       g.head(i),
		Local:      pick(r, choices.locals),
		Type:       pick(r, choices.types),
		Combine:    pick(r, choices.combines),
		Activation: pick(r, choices.activations),
		Axis:       pick(r, []string{"x", "y"}),
		Radius:     1 + r.IntN(9),
		Small:      1 + r.IntN(3),
		Tile:       pick(r, []int{4, 8, 16}),
		Bins:       pick(r, []int{64, 128, 256}),
		Integer:    i + 1,
		Constant:   fmt.Sprintf("%d.%04d", 1+r.IntN(3), i%10000),
		Flag:       r.IntN(2) == 0,
	}
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// head returns the #version with what different projects put around it.
func (g *generator) head(i int) string {
	switch n := g.random.IntN(20); {
	case i%75 == 74:
		return "#version 460 core"
	case n < 3:
		return "#version 310 es\nprecision highp float;\nprecision highp int;"
	case n < 8:
		return "#version 430 core"
	case n < 10:
		return "// Copyright the authors. All rights reserved.\n\n#version 430"
	case n < 12:
		return "#version 450 core\n#extension GL_GOOGLE_include_directive : require"
	default:
		return "#version 450 core"
	}
}

// duplicates writes files with the text of other programs.
func (g *generator) duplicates() {
	for i := range min(g.Programs/20, len(g.alone)) {
		g.file(fmt.Sprintf("%s/copies/copy_%04d.comp", SourceDir, i), g.alone[i])
		g.contents.Duplicates++
	}
}

// composed writes parts of sources, and the manifest that puts them together.
func (g *generator) composed() {
	g.file("composed/unary.glsl", `layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Values { FORMAT values[]; };
void main() { values[gl_GlobalInvocationID.x] = FORMAT(OPERATOR(float(values[gl_GlobalInvocationID.x]))); }
`)
	var entries []string
	for _, format := range []string{"float", "int", "uint"} {
		for _, operator := range []string{"abs", "sqrt", "floor", "exp", "sin", "cos", "sign", "ceil"} {
			entries = append(entries, fmt.Sprintf(`  {"name": "%s_%s", "file": "composed/unary.glsl", "version": "310 es", "prefix": "precision highp float;\n#define FORMAT %[1]s\n", "defines": {"OPERATOR": %[2]q}}`,
				format, operator))
		}
	}
	g.contents.Composed = len(entries)
	g.file(Manifest, "{\"programs\": [\n"+strings.Join(entries, ",\n")+"\n]}\n")
}

const emptyMain = "layout(local_size_x = 1) in;\nlayout(std430, binding = 0) buffer B { uint b[]; };\nvoid main() { b[0] = %s; }\n"

// errors writes programs that fail in each of the ways that programs fail.
func (g *generator) errors() {
	for i := range max(1, g.Programs/60) {
		for name, text := range map[string]string{
			"syntax":  fmt.Sprintf("#version 430\n"+emptyMain, fmt.Sprintf("%du +", i)),
			"type":    fmt.Sprintf("#version 430\n"+emptyMain, fmt.Sprintf("vec3(%d)", i)),
			"link":    fmt.Sprintf("#version 430\nuint other_%d(uint x);\n"+emptyMain, i, fmt.Sprintf("other_%d(1u)", i)),
			"include": fmt.Sprintf("#version 430\n#include \"missing_%d.glsl\"\n"+emptyMain, i, "1u"),
			"macro":   fmt.Sprintf("#version 430\n#if defined(X_%d\n#endif\n"+emptyMain, i, "1u"),
		} {
			g.file(fmt.Sprintf("%s/%s_%03d.comp", ErrorDir, name, i), text)
			g.contents.Errors++
		}
	}
}

// faults writes programs on which a driver with faults fails: see internal/faultgl.
func (g *generator) faults() {
	for i := range max(1, g.Programs/300) {
		for _, marker := range []string{CrashMarker, HangMarker, MemoryMarker} {
			name := strings.ToLower(strings.TrimPrefix(marker, "CORPUS_"))
			g.file(fmt.Sprintf("%s/%s_%03d.comp", FaultDir, name, i), fmt.Sprintf("#version 430\n// %s\n"+emptyMain, marker, fmt.Sprintf("%du", i)))
			g.contents.Faults++
		}
	}
}

// heavy writes programs whose macros grow to 2^levels tokens.
func (g *generator) heavy() {
	for i, levels := range []int{18, 20, 28} {
		var b strings.Builder
		b.WriteString("#version 430\n#define M0 b[0] + \n")
		for level := range levels {
			fmt.Fprintf(&b, "#define M%d M%d M%[2]d\n", level+1, level)
		}
		fmt.Fprintf(&b, emptyMain, fmt.Sprintf("M%d 1u", levels))
		g.file(fmt.Sprintf("%s/macros_%03d.comp", HeavyDir, i), b.String())
		g.contents.Heavy++
	}
}
