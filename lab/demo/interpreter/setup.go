//go:build linux

package interpreter

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Setup is how machines begin: code at address 0, registers, breakpoints, and what is
// watched.
type Setup struct {
	Code        []byte
	Registers   []RegisterSetting
	Breakpoints []uint64
	Watch       Watched
}

// RegisterSetting is a register that is set in every machine.
type RegisterSetting struct {
	register int // 31 is sp, 32 pc
	value    uint64
	machine  bool // the machine's number instead of value
}

// Watched is a part of memory; with 0 bytes it is none.
type Watched struct {
	Address uint64
	Bytes   int
}

const (
	registerSP = 31
	registerPC = 32
)

// ReadProgram reads a file of text to assemble, or with a name that ends in .bin, of
// instructions. It fails with a *SyntaxError for text that cannot be assembled.
func ReadProgram(file string) ([]byte, error) {
	code, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if !strings.EqualFold(filepath.Ext(file), ".bin") {
		if code, err = Assemble(file, string(code)); err != nil {
			return nil, err
		}
	}
	if len(code) == 0 {
		return nil, fmt.Errorf("interpreter: %s holds no instructions", file)
	}
	return code, nil
}

// ParseRegister parses NAME=VALUE: x0 to x30, sp or pc, and a number of 64 bits, or
// "machine" for the number of each machine, which pc does not take.
func ParseRegister(text string) (RegisterSetting, error) {
	name, value, _ := strings.Cut(strings.ToLower(text), "=")
	s := RegisterSetting{register: slices.Index([]string{"sp", "pc"}, name) + registerSP, machine: value == "machine"}
	if digits, ok := strings.CutPrefix(name, "x"); ok {
		n, err := strconv.ParseUint(digits, 10, 8)
		if err != nil || n > 30 {
			return s, fmt.Errorf("there is no register %s", name)
		}
		s.register = int(n)
	} else if s.register < registerSP {
		return s, fmt.Errorf("it must be x0 to x30, sp or pc, and a value")
	}
	var err error
	if s.value, err = ParseWord(value); err != nil && !s.machine || s.machine && s.register == registerPC {
		return s, fmt.Errorf("%q is no number", value)
	}
	return s, nil
}

// ParseWatched parses ADDRESS or ADDRESS+BYTES, multiples of 8. Without BYTES it is 8.
func ParseWatched(text string) (w Watched, err error) {
	address, bytes, found := strings.Cut(text, "+")
	w.Address, err = ParseWord(address)
	if w.Bytes = 8; err == nil && found {
		w.Bytes, err = strconv.Atoi(bytes)
	}
	if err != nil || w.Address%8 != 0 || w.Bytes < 8 || w.Bytes%8 != 0 {
		return w, fmt.Errorf("it must be an address, or ADDRESS+BYTES, in multiples of 8")
	}
	return w, nil
}

// ParseWord parses 64 bits: decimal or 0x, also negative.
func ParseWord(text string) (uint64, error) {
	if strings.HasPrefix(text, "-") {
		v, err := strconv.ParseInt(text, 0, 64)
		return uint64(v), err
	}
	return strconv.ParseUint(text, 0, 64)
}

// valueIn returns the value for a machine.
func (s RegisterSetting) valueIn(machine int) uint64 {
	if s.machine {
		return uint64(machine)
	}
	return s.value
}

// Apply loads the code and sets everything in all machines of v.
func (s Setup) Apply(ctx context.Context, v *Interpreter) error {
	if err := v.Load(ctx, s.Code, 0); err != nil {
		return err
	}
	for _, r := range s.Registers {
		var err error
		if r.register == registerPC {
			err = v.SetPC(ctx, r.value)
		} else {
			err = v.SetRegisters(ctx, r.register, r.valueIn)
		}
		if err != nil {
			return err
		}
	}
	if s.Watch.Bytes > 0 {
		if err := v.Watch(ctx, s.Watch.Address, s.Watch.Bytes); err != nil {
			return err
		}
	}
	for _, address := range s.Breakpoints {
		if err := v.Break(ctx, address); err != nil {
			return err
		}
	}
	return nil
}

// reference returns a machine on the CPU that begins as machine does. It has no
// breakpoints.
func (s Setup) reference(machine, memoryBytes int) (*Reference, error) {
	r, err := NewReference(memoryBytes, s.Code, 0)
	if err != nil {
		return nil, err
	}
	for _, set := range s.Registers {
		switch v := set.valueIn(machine); set.register {
		case registerPC:
			r.PC = v
		case registerSP:
			r.SP = v
		default:
			r.X[set.register] = v
		}
	}
	if s.Watch.Bytes > 0 {
		err = r.Watch(s.Watch.Address, s.Watch.Bytes)
	}
	return r, err
}

// Forms are the names of the forms of dispatch, for RunForm.
var Forms = []string{"mega", "continuous", "chained", "standard"}

// RunForm runs up to total instructions of each machine in the form of that name, else
// mega. Continuous runs batches of batch instructions and stops behind the one in which
// timeout passes, if that is not 0.
func (v *Interpreter) RunForm(ctx context.Context, form string, total, batch uint64, timeout time.Duration) (Result, error) {
	switch form {
	case "standard":
		return v.RunStandard(ctx, total)
	case "chained":
		return v.RunChained(ctx, total)
	case "continuous":
		return v.RunContinuous(ctx, int((total+batch-1)/batch), timeout)
	}
	return v.RunMega(ctx, total)
}
