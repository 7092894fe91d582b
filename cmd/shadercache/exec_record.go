package main

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/recording/recorder"
)

// record sets the environment for a program whose OpenGL programs are recorded.
func (o *options) record(ctx context.Context, folder, program string) error {
	folder, err := recorder.MakeFolder(folder)
	if err != nil {
		return cli.Hint(err, "--record takes a folder of your own, such as a new one")
	}
	library, err := recorder.Library(ctx, o.tellCompiling)
	if err == nil {
		err = recorder.SetEnvironment(library, folder)
	}
	if err != nil {
		return cli.Hint(err, fmt.Sprintf("install a C compiler (apt-get install gcc libc6-dev), or put %s beside the executable; "+
			"without --record the program needs neither", recorder.LibraryName))
	}
	o.Logger().Info("recording to " + folder + " with " + library)
	if reason := unrecorded(program); reason != "" {
		o.Logger().Warn("nothing is recorded of " + program + ": " + reason)
	}
	return nil
}

// tellCompiling says what takes the first use some seconds.
func (o *options) tellCompiling(compiler string) {
	if o.JSON {
		return // which has errors and warnings on standard error, and no progress
	}
	fmt.Fprintf(o.Stderr, "shadercache: compiling the recorder with %s, once\n", cli.EscapeName(compiler))
}

// unrecorded returns why the dynamic linker does not preload a library into a program, or
// "" where it does. A script is not known: what it starts may be recorded.
func unrecorded(program string) string {
	info, err := os.Stat(program)
	if err != nil {
		return ""
	}
	capabilities, _ := syscall.Getxattr(program, "security.capability", nil)
	if info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 || capabilities > 0 {
		return "it runs with other rights than yours, and such programs ignore LD_PRELOAD"
	}
	file, err := elf.Open(program)
	if err != nil {
		return ""
	}
	defer file.Close()
	if bits := 32 * int(file.Class); bits != strconv.IntSize {
		return fmt.Sprintf("it is a %d-bit program, and the recorder has %d bits", bits, strconv.IntSize)
	}
	isInterpreter := func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }
	if !slices.ContainsFunc(file.Progs, isInterpreter) {
		return "it is linked statically, and such programs ignore LD_PRELOAD"
	}
	return ""
}
