package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/shader"
)

const inspectUsage = `Show everything about a program on disk, for every driver that has it.

KEY is a key or its first digits, at least four, or the name of a program;
several programs may have the same name. A problem as tune prints it, such as
gemm:512x512x512, shows its tuning. It needs no OpenGL and writes nothing.

compile and load are the times until a program is ready to run; first result,
gpu time and rate are those of list.

The exit code is 1 when there is no such program.`

// inspectResult is what inspect prints.
type inspectResult struct {
	Programs []inspectLine `json:"programs"`          // those that match
	Tunings  []tuningLine  `json:"tunings,omitempty"` // results of tuning that match
}

type inspectLine struct {
	cli.Program
	File       string              `json:"file"`                 // the blob
	Format     string              `json:"format"`               // of the GL program binary, in hexadecimal
	WorkGroup  [3]uint32           `json:"work_group"`           // size
	Interface  shader.Digest       `json:"interface"`            // SHA-256 of its blocks and uniforms
	SourceKept bool                `json:"source_kept"`          // the text is stored too
	Damage     string              `json:"damage,omitempty"`     // what is wrong with the file
	Quarantine *binary.Quarantined `json:"quarantine,omitempty"` // why the program is refused or suspect
}

func (o *options) inspectCommand() cli.Command {
	return cli.Command{
		Use:      "inspect KEY|NAME|PROBLEM",
		Short:    "Show everything about a program on disk",
		Long:     inspectUsage,
		Example:  "  shadercache inspect conv2d_3x3",
		Args:     cli.OneArgument("name one program: a key, its first digits, a name, or a problem"),
		Complete: o.completePrograms(cobra.ShellCompDirectiveNoFileComp),
		Unused:   cli.GPUFlags, Result: inspectResult{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) { return o.inspect(args[0]) },
	}
}

// minKeyDigits keeps a short name from being read as the begin of a key or fingerprint.
const minKeyDigits = 4

// names reports whether an argument is a name, or the begin of the key or fingerprint that goes with it.
func names(typed, name string, key fmt.Stringer) bool {
	return typed == name && typed != "" || len(typed) >= minKeyDigits && strings.HasPrefix(key.String(), strings.ToLower(typed))
}

// eachProgram calls visit with the programs that drivers have or have notes on, some of them more
// than once.
func (o *options) eachProgram(dir *binary.Dir, visit func(name string, key shader.Key)) error {
	return o.ForStores(dir, func(_ string, store *binary.Store) error {
		for e := range store.All() {
			visit(e.Name, e.Key)
		}
		for _, q := range store.Quarantined() {
			visit(q.Name, q.Key)
		}
		for key, name := range store.Failures() {
			visit(name, key)
		}
		return nil
	})
}

func (o *options) inspect(typed string) (*inspectResult, error) {
	path, dir, err := o.ReadDirectory()
	if err != nil {
		return nil, err
	}
	r := &inspectResult{Programs: []inspectLine{}}
	if dir != nil {
		err = o.ForStores(dir, func(driver string, store *binary.Store) error {
			for e, err := range store.All() {
				if names(typed, e.Name, e.Key) {
					r.Programs = append(r.Programs, newInspectLine(dir, store, driver, e, err))
				}
			}
			r.Tunings = append(r.Tunings, tunings(driver, store, typed)...)
			return nil
		})
	}
	if err == nil && len(r.Programs) == 0 && len(r.Tunings) == 0 {
		err = noSuchProgram(typed, path)
	}
	return r, err
}

func noSuchProgram(typed, path string) error {
	return cli.Hint(fmt.Errorf("%s has no program %q", path, typed), "shadercache list")
}

// newInspectLine describes an entry; unreadable is the error of reading its header.
func newInspectLine(dir *binary.Dir, store *binary.Store, driver string, e binary.Entry, unreadable error) inspectLine {
	line := inspectLine{Program: cli.NewProgram(driver, e), File: blobFile(store, e.Key)}
	if blob, err := readBlob(line.File); err == nil {
		line.Format, line.WorkGroup, line.Interface = fmt.Sprintf("0x%04X", blob.Format), blob.WorkGroup, blob.Interface
	} else {
		line.Damage = errors.Join(unreadable, err).Error()
	}
	_, err := dir.Source(e.Key)
	line.SourceKept = err == nil
	for _, q := range store.Quarantined() {
		if q.Key == e.Key {
			line.Quarantine = &q
		}
	}
	return line
}

// blobFile returns the path of a program's file.
func blobFile(store *binary.Store, key shader.Key) string {
	return filepath.Join(store.Path(), "blobs", key.String()[:2], key.String()+".bin")
}

// readBlob decodes a program. Unlike the store it does not move a damaged one away.
func readBlob(file string) (*binary.Blob, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	b := &binary.Blob{}
	return b, b.Decode(data)
}

func (r *inspectResult) Print(w io.Writer) {
	for i, p := range r.Programs {
		if i > 0 {
			fmt.Fprintln(w)
		}
		p.Print(w)
	}
	printTunings(w, r.Tunings)
}

func (p *inspectLine) Print(w io.Writer) {
	stored := "not stored"
	if p.SourceKept {
		stored = "stored"
	}
	fmt.Fprintf(w, "name\t%s\nkey\t%s\ndriver\t%s\nfile\t%s\n", cli.EscapeName(p.Name), p.Key, cli.EscapeName(p.Driver), cli.EscapeName(p.File))
	fmt.Fprintf(w, "size\t%s, %s raw\nformat\t%s\n", cli.ReadableBytes(p.Bytes), cli.ReadableBytes(p.RawBytes), p.Format)
	fmt.Fprintf(w, "work group\t%d x %d x %d\n", p.WorkGroup[0], p.WorkGroup[1], p.WorkGroup[2])
	fmt.Fprintf(w, "created\t%s\nlast use\t%s\n", p.Created.Local().Format(time.DateTime), p.LastUse.Local().Format(time.DateTime))
	fmt.Fprintf(w, "hits\t%d\ncompile\t%s\nload\t%s\n", p.Hits, knownMillis(milliseconds(p.CompileNanos)), knownMillis(milliseconds(p.LoadNanos)))
	fmt.Fprintf(w, "first result\t%s\ngpu time\t%s\nrate\t%s GFLOP/s\nsource\t%s\n",
		knownMillis(milliseconds(p.FirstResultNanos)), knownMillis(milliseconds(p.GPUNanos)), knownRate(p.GFLOPS), stored)
	if p.Damage != "" {
		fmt.Fprintf(w, "damage\t%s\n", cli.EscapeName(p.Damage))
	}
	if p.Quarantine != nil {
		fmt.Fprintf(w, "quarantine\t%s: %s\n", p.Quarantine.Consequence(), cli.EscapeName(p.Quarantine.Reason))
	}
}
