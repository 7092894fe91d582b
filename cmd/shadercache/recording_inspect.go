package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/recording"
	"github.com/shadercache/shadercache/shader"
)

const recordingInspectUsage = `Show everything about one program of a recording: its context, what decides the
link, and the texts of its shaders. PROGRAM is a digest, or its first digits, at
least four. --text prints the texts alone, byte for byte.

The exit code is 1 when there is no such program, or its file is damaged.`

// recordingInspection is what recording inspect prints.
type recordingInspection struct {
	recordedProgram
	Separable   bool                  `json:"separable"`   // GL_PROGRAM_SEPARABLE
	Created     bool                  `json:"created"`     // by glCreateShaderProgramv
	Retrievable bool                  `json:"retrievable"` // GL_PROGRAM_BINARY_RETRIEVABLE_HINT
	Shaders     []recordedShader      `json:"shaders"`     // in the order of attachment
	Attributes  []recording.Attribute `json:"attributes"`  // of glBindAttribLocation
	Outputs     []recording.Output    `json:"outputs"`     // of glBindFragDataLocationIndexed
	Feedback    []string              `json:"feedback"`    // of glTransformFeedbackVaryings
}

type recordedShader struct {
	Stage      string               `json:"stage"`
	Bytes      int                  `json:"bytes"`
	Text       string               `json:"text,omitempty"`        // GLSL
	EntryPoint string               `json:"entry_point,omitempty"` // of SPIR-V, whose module is left out
	Constants  []recording.Constant `json:"constants,omitempty"`   // specialization of SPIR-V
}

func (o *options) recordingInspectCommand() cli.Command {
	var f struct {
		Text bool `flag:"text" help:"print the texts of the shaders alone" excludes:"json"`
	}
	return cli.Command{
		Use:     "inspect [--text] RECORDING PROGRAM",
		Short:   "Show everything about a program of a recording",
		Long:    recordingInspectUsage,
		Example: "  shadercache recording inspect recordings/app 5e884898",
		Args:    cli.CountArguments(2, 2, "name one recording and one program of it"),
		Flags:   &f, Unused: cli.DirFlags + cli.GPUFlags, Result: recordingInspection{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) {
			r, err := inspectRecorded(args[0], args[1])
			if err != nil || !f.Text {
				return r, err
			}
			for _, s := range r.Shaders {
				if err == nil {
					_, err = io.WriteString(o.Stdout, s.Text)
				}
			}
			return nil, err
		},
	}
}

// findRecorded returns the program of a recording whose digest begins with digits.
func findRecorded(rec *recording.Recording, digits string) (found shader.Digest, err error) {
	digests, err := rec.Digests()
	if err != nil {
		return found, err
	}
	matches := 0
	for _, d := range digests {
		if names(digits, "", d) {
			found = d
			matches++
		}
	}
	switch matches {
	case 0:
		return found, cli.Hint(fmt.Errorf("%s has no program %q", rec.Path(), digits), "shadercache recording list "+rec.Path())
	case 1:
		return found, nil
	}
	return found, fmt.Errorf("%s has %d programs %q: give more digits", rec.Path(), matches, digits)
}

func inspectRecorded(path, digits string) (*recordingInspection, error) {
	rec, err := openRecording(path)
	if err != nil {
		return nil, err
	}
	d, err := findRecorded(rec, digits)
	if err != nil {
		return nil, err
	}
	p, err := rec.Program(d)
	if err != nil {
		return nil, err
	}
	r := &recordingInspection{
		recordedProgram: newRecordedProgram(d, p, rec.Logs().Of(d)),
		Separable:       p.Separable, Created: p.Created, Retrievable: p.Retrievable,
		Shaders: []recordedShader{}, Attributes: append([]recording.Attribute{}, p.Attributes...),
		Outputs: append([]recording.Output{}, p.Outputs...), Feedback: []string{},
	}
	for _, s := range p.Stages {
		r.Shaders = append(r.Shaders, newRecordedShader(s))
	}
	if p.Feedback != nil {
		r.Feedback = append(r.Feedback, p.Feedback.Varyings...)
	}
	return r, nil
}

func newRecordedShader(s recording.Stage) recordedShader {
	line := recordedShader{Stage: s.Kind.String(), Bytes: s.Bytes(), Text: s.Text}
	if s.Module != nil {
		line.EntryPoint, line.Constants = s.Module.EntryPoint, s.Module.Constants
	}
	return line
}

func (r *recordingInspection) Print(w io.Writer) {
	fmt.Fprintf(w, "program\t%s\nstages\t%s\ncontext\t%s\n", r.Program, r.Stages, r.Context)
	fmt.Fprintf(w, "links\t%d, %d refused, in %s\n", r.Links, r.Failed, cli.Plural(r.Processes, "process"))
	fmt.Fprintf(w, "first use\t%s\nlink\t%s\n", knownMillis(cli.Milliseconds(r.FirstUse)), knownMillis(cli.Milliseconds(r.LinkTime)))
	for _, flag := range []struct {
		set  bool
		name string
	}{{r.Separable, "separable"}, {r.Created, "glCreateShaderProgramv"}, {r.Retrievable, "binary retrievable"}} {
		if flag.set {
			fmt.Fprintf(w, "made\t%s\n", flag.name)
		}
	}
	for _, a := range r.Attributes {
		fmt.Fprintf(w, "attribute\t%d %s\n", a.Location, cli.EscapeName(a.Name))
	}
	for _, out := range r.Outputs {
		fmt.Fprintf(w, "output\t%d %d %s\n", out.Number, out.Index, cli.EscapeName(out.Name))
	}
	for _, name := range r.Feedback {
		fmt.Fprintf(w, "feedback\t%s\n", cli.EscapeName(name))
	}
	for _, s := range r.Shaders {
		if s.EntryPoint != "" {
			fmt.Fprintf(w, "\n%s: SPIR-V, %s, entry point %s\n", s.Stage, cli.ReadableBytes(int64(s.Bytes)), cli.EscapeName(s.EntryPoint))
			continue
		}
		fmt.Fprintf(w, "\n%s: %s\n%s\n", s.Stage, cli.ReadableBytes(int64(s.Bytes)), strings.ReplaceAll(strings.TrimRight(s.Text, "\n"), "\t", "    "))
	}
}
