package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/shadercache/shadercache/demo/interpreter"
	"github.com/shadercache/shadercache/internal/cli"
)

// interpreterFlags are the flags of run interpreter.
type interpreterFlags struct {
	form      string
	cycles    uint64
	machine   int
	registers []string
	breaks    []string
	watch     string
	memory    cli.ByteSize
	timeout   time.Duration
	verify    bool
	options   interpreter.Options

	progress func(steps int, what string) *progressbar.ProgressBar
}

var interpreterForms = []string{"mega", "continuous", "chained", "standard"}

func (f *interpreterFlags) check() error {
	f.options.MemoryBytes, f.options.TraceMachine, f.options.Watchpoints = int(f.memory), f.machine, f.watch != ""
	switch {
	case !slices.Contains(interpreterForms, f.form):
		return fmt.Errorf("there is no form %q: %s", f.form, strings.Join(interpreterForms, ", "))
	case f.cycles == 0 || f.options.Machines < 1 || f.options.BatchCycles < 1:
		return errors.New("--cycles, --machines and --batch must be at least 1")
	case f.timeout < 0 || f.timeout > 0 && f.form != "continuous":
		return errors.New("--timeout must not be negative, and is for --form continuous: other forms end with --cycles")
	case f.options.TraceEntries < 0 || f.options.TraceEntries > 1<<20:
		return fmt.Errorf("--trace %d: it must be 0 to %d", f.options.TraceEntries, 1<<20)
	case f.memory < 8 || f.memory%8 != 0 || f.memory > 1<<32:
		return fmt.Errorf("--memory %d: it must be a multiple of 8 from 8 to 4G", f.memory)
	case f.machine < 0 || f.machine >= f.options.Machines:
		return fmt.Errorf("--machine %d: it must be 0 to %d", f.machine, f.options.Machines-1)
	}
	_, _, err := f.watched()
	if err == nil {
		_, err = f.settings()
	}
	return err
}

// watched is the part of memory that --watch names.
func (f *interpreterFlags) watched() (address uint64, n int, err error) {
	if f.watch == "" {
		return 0, 0, nil
	}
	at, length, long := strings.Cut(f.watch, "+")
	address, err = parseWord(at)
	if n = 8; err == nil && long {
		n, err = strconv.Atoi(length)
	}
	if err != nil || address%8 != 0 || n < 8 || n%8 != 0 {
		return 0, 0, fmt.Errorf("--watch %s: it must be an address, or ADDRESS+BYTES, in multiples of 8", f.watch)
	}
	return address, n, nil
}

// setting is a register to be set before a run.
type setting struct {
	register int // 31 is sp, 32 pc
	value    uint64
	number   bool // the machine's number instead
}

const settingPC = 32

func (f *interpreterFlags) settings() ([]setting, error) {
	var list []setting
	for _, text := range f.registers {
		name, value, _ := strings.Cut(strings.ToLower(text), "=")
		s := setting{register: slices.Index([]string{"sp", "pc"}, name) + 31, number: value == "machine"}
		if digits, ok := strings.CutPrefix(name, "x"); ok {
			n, err := strconv.ParseUint(digits, 10, 8)
			if err != nil || n > 30 {
				return nil, fmt.Errorf("--reg %s: there is no register %s", text, name)
			}
			s.register = int(n)
		} else if s.register < 31 {
			return nil, fmt.Errorf("--reg %s: it must be x0 to x30, sp or pc, and a value", text)
		}
		var err error
		if s.value, err = parseWord(value); err != nil && !s.number || s.number && s.register == settingPC {
			return nil, fmt.Errorf("--reg %s: %q is no number", text, value)
		}
		list = append(list, s)
	}
	for _, text := range f.breaks {
		if _, err := parseWord(text); err != nil {
			return nil, fmt.Errorf("--break %s: it must be an address", text)
		}
	}
	return list, nil
}

// parseWord reads 64 bits: decimal or 0x, also negative.
func parseWord(text string) (uint64, error) {
	if strings.HasPrefix(text, "-") {
		v, err := strconv.ParseInt(text, 0, 64)
		return uint64(v), err
	}
	return strconv.ParseUint(text, 0, 64)
}

// prepare loads the code and sets registers, breakpoints and what is watched.
func (f *interpreterFlags) prepare(ctx context.Context, v *interpreter.Interpreter, code []byte) error {
	if err := v.Load(ctx, code, 0); err != nil {
		return err
	}
	settings, err := f.settings()
	if err != nil {
		return err
	}
	for _, s := range settings {
		if s.register == settingPC {
			err = v.SetPC(ctx, s.value)
		} else {
			err = v.SetRegisters(ctx, s.register, s.in)
		}
		if err != nil {
			return err
		}
	}
	if address, n, err := f.watched(); err != nil {
		return err
	} else if n > 0 {
		if err := v.Watch(ctx, address, n); err != nil {
			return err
		}
	}
	for _, text := range f.breaks {
		address, err := parseWord(text)
		if err == nil {
			err = v.Break(ctx, address)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// in is the value for a machine.
func (s setting) in(machine int) uint64 {
	if s.number {
		return uint64(machine)
	}
	return s.value
}
