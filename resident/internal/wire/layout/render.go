package layout

import (
	"fmt"
	"go/format"
	"strings"
)

// File is a generated file, with its path relative to the module's resident folder.
type File struct {
	Path, Text string
}

// Files returns the generated files.
func Files() ([]File, error) {
	code, err := goText()
	if err != nil {
		return nil, err
	}
	return []File{{"internal/wire/words.go", code}, {"kernels/resident_control.glsl", glslText()}}, nil
}

const notice = "Code generated from internal/wire/layout; DO NOT EDIT."

// goText returns words.go.
func goText() (string, error) {
	var t strings.Builder
	fmt.Fprintf(&t, "// %s\n\npackage wire\n", notice)
	for _, g := range Constants {
		fmt.Fprintf(&t, "\n// %s\nconst (\n", g.About)
		for _, c := range g.List {
			fmt.Fprintf(&t, "\t%s = %s%s\n", c.Go, g.text(c.Value), comment(c.About))
		}
		t.WriteString(")\n")
	}
	for _, b := range Blocks {
		fmt.Fprintf(&t, "\n// Word indices of %s.\nconst (\n\t%sBinding = %d\n\n", b.Name, b.Go, b.Binding)
		b.EachField(func(_ Line, f Field, at int) { fmt.Fprintf(&t, "\tAt%s = %d%s\n", f.Name, at, comment(f.About)) })
		t.WriteString("\n")
		words := b.EachArray(func(a Array, at int) {
			fmt.Fprintf(&t, "\tAt%s = %d%s\n\t%sWords = %d // of an entry\n", a.Name, at, comment(a.About), a.Name, a.Words)
		})
		fmt.Fprintf(&t, "\n\t%sLines = %d // words of all lines\n\t%sWords = %d // of the block, without an array for the groups\n)\n",
			b.Go, LineWords*len(b.Lines), b.Go, words)
	}
	text, err := format.Source([]byte(t.String()))
	return string(text), err
}

func comment(about string) string {
	if about == "" {
		return ""
	}
	return " // " + about
}

// glslText returns resident_control.glsl.
func glslText() string {
	var t strings.Builder
	fmt.Fprintf(&t, "// %s\n//\n// The control blocks of a resident kernel. A line is 64 bytes and has one writer.\n", notice)
	for _, g := range Constants {
		fmt.Fprintf(&t, "\n// %s\n", g.About)
		for _, c := range g.List {
			if g.Override {
				fmt.Fprintf(&t, "#ifndef %s\n#define %s %d\n#endif\n", c.GLSL, c.GLSL, c.Value)
				continue
			}
			fmt.Fprintf(&t, "#define %s %su%s\n", c.GLSL, g.text(c.Value), comment(c.About))
		}
	}
	for _, b := range Blocks {
		fmt.Fprintf(&t, "\n// %s\nlayout(std430, binding = %d) %s buffer %s {\n", b.About, b.Binding, b.Memory, b.Name)
		fmt.Fprintf(&t, "    uvec4 %s[%d]; // all lines: see the names below\n", b.lines(), LineWords/4*len(b.Lines))
		for _, a := range b.Arrays {
			fmt.Fprintf(&t, "    // %s. Written by %s.\n    %s resident%s[%s];\n", a.About, a.Writer, a.Kind, a.Name, a.glslCount())
		}
		t.WriteString("};\n")
		b.writeNames(&t)
	}
	return t.String()
}

// lines returns the name of the array that holds all lines of a block: kernels load some of
// them by index.
func (b Block) lines() string { return "resident" + b.Go + "Lines" }

// writeNames writes a macro for the vector that each line begins with, and one for each
// field.
func (b Block) writeNames(t *strings.Builder) {
	line := ""
	b.EachField(func(l Line, f Field, at int) {
		if l.Name != line {
			line = l.Name
			fmt.Fprintf(t, "// Line %s, written by %s.\n#define RESIDENT_LINE_%s %du\n", l.Name, l.Writer, strings.ToUpper(l.Name), at/4)
		}
		component := ""
		if f.Words == 1 {
			component = "." + "xyzw"[at%4:at%4+1]
		}
		fmt.Fprintf(t, "#define resident%s %s[%d]%s // %s\n", f.Name, b.lines(), at/4, component, f.About)
	})
}

// glslCount returns the length of an array in elements of its kind.
func (a Array) glslCount() string {
	if a.Count == "" || a.Words <= 4 {
		return a.Count
	}
	return fmt.Sprintf("%d * %s", a.Words/4, a.Count)
}
