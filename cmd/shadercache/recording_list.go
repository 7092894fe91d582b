package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/recording"
	"github.com/shadercache/shadercache/shader"
)

const recordingListUsage = `List the programs of a recording in the order in which processes linked them,
and the processes: stages, size of the texts, context, first use since the start
of its process, and the longest time that the driver took to link it, which is
that of a start that found nothing in the driver's cache. A driver that links on
threads of its own shows less.

"refused" counts the links that the driver refused, where the application asked.
Times are unknown for programs that no log has, and for those that were linked
and never used.

The exit code is 1 when a file is damaged; the others are listed.`

// recordingList is what recording list prints.
type recordingList struct {
	Recording string            `json:"recording"` // its path
	Programs  []recordedProgram `json:"programs"`  // in the order of their first link
	Processes []recordedProcess `json:"processes"` // in the order of their start
	Damaged   int               `json:"damaged"`   // programs and logs that cannot be read
	partial
}

type recordedProgram struct {
	Program shader.Digest `json:"program"` // SHA-256 of its file
	Stages  string        `json:"stages"`  // in the order of attachment: vertex+fragment
	Bytes   int           `json:"bytes"`   // of texts and modules
	Context string        `json:"context"` // API, version, profile and flags
	recording.Usage
}

type recordedProcess struct {
	Name       string    `json:"name"`       // of its log
	Executable string    `json:"executable"` // path
	Start      time.Time `json:"start"`      // of recording
	Renderers  []string  `json:"renderers"`  // GL_RENDERER of its contexts
	Links      int       `json:"links"`      // of programs
	LinkMillis float64   `json:"link_ms"`    // of all links
	Binaries   int       `json:"binaries"`   // programs that it loaded from binaries of its own, which are not recorded
	Lost       []string  `json:"lost"`       // what could not be recorded
	Unread     int       `json:"unread"`     // lines of the log that cannot be read
}

func (o *options) recordingListCommand() cli.Command {
	return cli.Command{
		Use:     "list RECORDING [flags]",
		Aliases: []string{"ls"},
		Short:   "List the programs and processes of a recording",
		Long:    recordingListUsage,
		Example: "  shadercache recording list recordings/app",
		Args:    cli.OneArgument("name one recording"),
		Unused:  cli.DirFlags + cli.GPUFlags, Result: recordingList{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) {
			return o.listRecording(args[0])
		},
	}
}

func (o *options) listRecording(path string) (*recordingList, error) {
	rec, err := openRecording(path)
	if err != nil {
		return nil, err
	}
	digests, err := rec.Digests()
	if err != nil {
		return nil, err
	}
	logs := rec.Logs()
	logs.Sort(digests)
	r := &recordingList{Recording: path, Processes: []recordedProcess{}}
	var damaged []error
	r.Programs, damaged = o.readRecorded(rec, digests, logs)
	for _, p := range logs.Processes {
		r.Processes = append(r.Processes, newRecordedProcess(p))
	}
	damaged = append(logs.Damaged, damaged...)
	r.Damaged, r.failed = len(damaged), cli.Several(damaged)
	return r, nil
}

// readRecorded returns programs of a recording, and the errors of those that cannot be read.
func (o *options) readRecorded(rec *recording.Recording, digests []shader.Digest, logs *recording.Logs) (list []recordedProgram, damaged []error) {
	list = []recordedProgram{}
	progress := o.NewProgress(len(digests), "reading")
	for _, d := range digests {
		if p, err := rec.Program(d); err != nil {
			damaged = append(damaged, err)
		} else {
			list = append(list, newRecordedProgram(d, p, logs.Of(d)))
		}
		_ = progress.Add(1)
	}
	_ = progress.Finish()
	return list, damaged
}

func newRecordedProgram(d shader.Digest, p *recording.Program, u recording.Usage) recordedProgram {
	return recordedProgram{d, p.StageNames(), p.SourceBytes(), p.Context.String(), u}
}

func newRecordedProcess(p *recording.Process) recordedProcess {
	line := recordedProcess{
		Name: p.Name, Executable: p.Executable, Start: p.Start, Links: len(p.Links),
		Binaries: len(p.Binaries), Unread: p.Unread, Renderers: []string{}, Lost: []string{},
	}
	for _, c := range p.Contexts {
		line.Renderers = append(line.Renderers, c.Renderer)
	}
	for _, l := range p.Lost {
		line.Lost = append(line.Lost, l.Reason)
	}
	var total time.Duration
	for _, l := range p.Links {
		total += l.Took
	}
	line.LinkMillis = cli.Milliseconds(total)
	return line
}

func (r *recordingList) Print(w io.Writer) {
	printRecorded(w, r.Programs)
	if len(r.Processes) > 0 {
		fmt.Fprint(w, "process\tlinks\tlink\tlost\texecutable\n")
		for _, p := range r.Processes {
			fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\n", cli.EscapeName(p.Name), p.Links, knownMillis(p.LinkMillis), len(p.Lost), cli.EscapeName(p.Executable))
		}
		fmt.Fprintln(w)
	}
	bytes := 0
	for _, p := range r.Programs {
		bytes += p.Bytes
	}
	fmt.Fprintf(w, "%s, %s of texts, %s", cli.Plural(len(r.Programs), "program"), cli.ReadableBytes(int64(bytes)), cli.Plural(len(r.Processes), "process"))
	if r.Damaged > 0 {
		fmt.Fprintf(w, ", %s damaged", cli.Plural(r.Damaged, "file"))
	}
	fmt.Fprintln(w)
}

// printRecorded prints a table of recorded programs, where there are any, and an empty line.
func printRecorded(w io.Writer, programs []recordedProgram) {
	if len(programs) == 0 {
		return
	}
	fmt.Fprint(w, "program\tstages\tsize\tlinks\tfirst use\tlink\tcontext\n")
	for _, p := range programs {
		links := fmt.Sprint(p.Links)
		if p.Failed > 0 {
			links += fmt.Sprintf(", %d refused", p.Failed)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Program.String()[:12], p.Stages, cli.ReadableBytes(int64(p.Bytes)), links,
			knownMillis(cli.Milliseconds(p.FirstUse)), knownMillis(cli.Milliseconds(p.LinkTime)), p.Context)
	}
	fmt.Fprintln(w)
}
