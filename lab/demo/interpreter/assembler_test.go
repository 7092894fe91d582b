package interpreter

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// encodings are those of other assemblers for the lines, at address 0.
var encodings = []struct {
	text string
	raw  uint32
	back string // as disassembled, where it differs
}{
	{"movz x0, #0", 0xD2800000, ""},
	{"movz x1, #32768", 0xD2900001, ""},
	{"MOVZ X1, #1, LSL #16", 0xD2A00021, "movz x1, #1, lsl #16"},
	{"mov x30, 0xffff, lsl 48", 0xD2FFFFFE, "movz x30, #65535, lsl #48"},
	{"add x0, x0, #1", 0x91000400, ""},
	{"add sp, sp, #16", 0x910043FF, ""},
	{"add x1, sp, #4095, lsl #12", 0x917FFFE1, ""},
	{"add x0, x1, x2", 0x8B020020, ""},
	{"adds xzr, x3, #5", 0xB100147F, ""},
	{"sub x5, x6, x7", 0xCB0700C5, ""},
	{"sub sp, sp, #32", 0xD10083FF, ""},
	{"subs x2, x3, x4", 0xEB040062, ""},
	{"subs x0, x0, #1", 0xF1000400, ""},
	{"cmp x0, #5", 0xF100141F, "subs xzr, x0, #5"},
	{"cmp x1, x2", 0xEB02003F, "subs xzr, x1, x2"},
	{"cmn x1, x2", 0xAB02003F, "adds xzr, x1, x2"},
	{"add x0, xzr, x30", 0x8B1E03E0, ""},
	{"str x0, [x1]", 0xF9000020, ""},
	{"str xzr, [sp, #8]", 0xF90007FF, ""},
	{"ldr x0, [x1, #8]", 0xF9400420, ""},
	{"ldr x29, [sp, #32760]", 0xF97FFFFD, ""},
	{"l: b l", 0x14000000, "b 0x0"},
	{"l: b.ne l", 0x54000001, "b.ne 0x0"},
	{"l: b.hs l", 0x54000002, "b.cs 0x0"},
	{"b.le l\nl:", 0x5400002D, "b.le 0x4"},
	{"l: b.al l", 0x5400000E, "b.al 0x0"},
	{"L: B.NV L", 0x5400000F, "b.nv 0x0"},
	{"L: l: b l", 0x14000000, "b 0x0"},
	{"mov x0, sp", 0x910003E0, "add x0, sp, #0"},
	{"mov sp, x29", 0x910003BF, "add sp, x29, #0"},
	{"LDR X0,[ X1 , #8 ]", 0xF9400420, "ldr x0, [x1, #8]"},
	{"hlt #0", 0xD4400000, ""},
	{"svc #93", 0xD4000BA1, ""},
	{"add z0.d, z0.d, z0.d", 0x04E00000, ""},
	{"sub z31.d, z31.d, z31.d", 0x04FF07FF, ""},
	{"EOR Z23.D, Z13.D, Z8.D", 0x04A831B7, "eor z23.d, z13.d, z8.d"},
	{"mul z0.d, z1.d, z2.d", 0x04E26020, ""},
	{"mov z0.d, x0", 0x05E03800, "dup z0.d, x0"},
	{"dup z31.d, sp", 0x05E03BFF, ""},
	{"index z31.d, xzr, xzr", 0x04FF4FFF, ""},
	{"ldr z0, [x0]", 0x85804000, ""},
	{"ldr z31, [sp, #-256, mul vl]", 0x85A043FF, ""},
	{"ldr z23, [x13, #255, mul vl]", 0x859F5DB7, ""},
	{"str z23, [x13, #67, mul vl]", 0xE5884DB7, ""},
	{".word 0xd503201f", 0xD503201F, ".word 0xd503201f"},
}

func TestEncodings(t *testing.T) {
	for _, e := range encodings {
		code, err := Assemble("test.s", e.text)
		if err != nil {
			t.Error(err)
			continue
		}
		if raw := binary.LittleEndian.Uint32(code); raw != e.raw || len(code) != 4 {
			t.Errorf("%q is %#08x, not %#08x", e.text, raw, e.raw)
		}
		back := e.back
		if back == "" {
			back = e.text
		}
		if text := Disassemble(e.raw, 0); text != back {
			t.Errorf("%#08x is %q, not %q", e.raw, text, back)
		}
	}
}

func TestAssemblerErrors(t *testing.T) {
	tests := map[string]string{
		"frob x0":                         `there is no instruction "frob" here`,
		"add x0, x1":                      "add does not take 2 operands",
		"add x31, x1, #1":                 `"x31" is none of x0 to x30 and sp`,
		"add x0, sp, x1":                  `"sp" is none of x0 to x30 and xzr`,
		"subs sp, x1, #1":                 `"sp" is none`,
		"add x0, x1, #4096":               `"#4096" is no number from 0 to 4095`,
		"movz x0, #1, lsl #8":             "no lsl by a multiple of 16 up to 48",
		"ldr x0, [x1, #4]":                "multiple of 8",
		"ldr x0":                          "needs more operands",
		"b nowhere":                       `there is no label "nowhere"`,
		"b.xx nowhere":                    "there is no instruction",
		"l:\nl:":                          `"l" is no new label`,
		"svc #65536":                      "no number from 0 to 65535",
		"add x0, x1, x2, lsl #1":          "does not take 4 operands",
		"ldr x0, [x1], #8":                "without pre- or post-index",
		"str x0, [x1, #8]!":               "without pre- or post-index",
		"ldr x0, x1":                      "the address must be [register]",
		"ldr x0, [x1":                     "the address must be [register]",
		"ldr x0, [x1, #8, #8]":            "does not take 4 operands",
		"ldr x0, []":                      "needs more operands",
		"add [x0], x1, x2":                `"[x0]" is none of`,
		"add x0,, x1, #1":                 "an operand is missing",
		"hlt #0,":                         "an operand is missing",
		"mov x0, x1":                      "add x0, x1, xzr does the same",
		"add w0, x1, x2":                  `"w0" has 32 bits`,
		"add x0, x1, w2":                  `"w2" has 32 bits`,
		".word 1, 2":                      ".word does not take 2 operands",
		"nop: b.eq 5":                     `there is no label "5"`,
		"x: y z: hlt #0":                  `"y z" is no new label`,
		"add z0.d, z1.d, x2":              `"x2" is none of z0.d to z31.d`,
		"add z0, z1.d, z2.d":              `"z0" is none of z0.d to z31.d`,
		"adds z0.d, z1.d, z2.d":           `there is no instruction "adds" on vectors here`,
		"index z0.d, sp, x1":              `"sp" is none of x0 to x30 and xzr`,
		"dup z32.d, x1":                   `"z32.d" is none of z0.d to z31.d`,
		"ldr z0, [x1, #256, mul vl]":      "-256 to 255, and mul vl behind it",
		"str z0, [x1, #8]":                "-256 to 255, and mul vl behind it",
		"hlt #0 // fine\n\n ; fine\n hlt": "needs more operands",
	}
	for text, want := range tests {
		_, err := Assemble("test.s", text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "test.s:") {
			t.Errorf("%q: error %v does not contain %q", text, err, want)
		}
	}
}

// FuzzDisassemble checks that a disassembled instruction assembles to the same word.
func FuzzDisassemble(f *testing.F) {
	for _, e := range encodings {
		f.Add(e.raw)
	}
	f.Fuzz(func(t *testing.T, raw uint32) {
		text := Disassemble(raw, 0)
		if decode(raw).op == branch {
			return
		}
		code, err := Assemble("fuzz.s", text)
		if err != nil || binary.LittleEndian.Uint32(code) != raw {
			t.Errorf("%#08x is %q, which assembles to %x, %v", raw, text, code, err)
		}
	})
}

func FuzzAssemble(f *testing.F) {
	for _, e := range encodings {
		f.Add(e.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		code, err := Assemble("fuzz.s", text)
		if err == nil && len(code)%4 != 0 {
			t.Errorf("%q: %d bytes", text, len(code))
		}
	})
}

func TestReference(t *testing.T) {
	tests := []struct {
		name, text string
		cycles     uint64
		want       func(r *Reference) bool
	}{
		{"carry and wrap", "movz x0, #0\nsubs x0, x0, #1\nadds x1, x0, #1\nhlt #7", 4, func(r *Reference) bool {
			return r.X[0] == 1<<64-1 && r.X[1] == 0 && r.Flags == 4|2 && r.Number == 7 && r.Signal == SignalHalt && r.PC == 12
		}},
		{"overflow", "movz x0, #0x8000, lsl #48\nsubs x1, x0, #1\nhlt #0", 3, func(r *Reference) bool { return r.Flags == 2|1 }},
		{"countdown", "movz x0, #5\nl: add x1, x1, #2\nsubs x0, x0, #1\nb.ne l\nhlt #0", 1 + 15 + 1, func(r *Reference) bool { return r.X[1] == 10 }},
		{"memory", "movz x1, #0x100\nmovz x0, #9\nstr x0, [x1, #8]\nldr x2, [x1, #8]\nldr x3, [x1]\nhlt #0", 6, func(r *Reference) bool { return r.X[2] == 9 && r.X[3] == 0 }},
		{"zero register", "add sp, sp, #8\nadd x0, xzr, xzr\nadds xzr, x0, #3\nstr xzr, [sp, #0x100]\nhlt #0", 5, func(r *Reference) bool { return r.SP == 8 && r.Flags == 0 }},
		{"code is safe", "str x0, [x1]", 0, func(r *Reference) bool { return r.Fault == FaultCode && r.Address == 0 && r.PC == 0 }},
		{"alignment", "movz x1, #0x101\nstr x0, [x1]", 1, func(r *Reference) bool { return r.Fault == FaultAlignment && r.Address == 0x101 }},
		{"too far", "subs x1, x1, #8\nldr x0, [x1]", 1, func(r *Reference) bool { return r.Fault == FaultAddress && r.Address == 1<<64-8 }},
		{"off the end", "movz x1, #1", 1, func(r *Reference) bool { return r.Fault == FaultPC && r.PC == 4 }},
		{"undefined", ".word 0", 0, func(r *Reference) bool { return r.Fault == FaultUndefined }},
	}
	for _, test := range tests {
		code, err := Assemble(test.name, test.text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReference(4096, code, 0)
		if err != nil {
			t.Fatal(err)
		}
		r.Run(100)
		if r.Cycles != test.cycles || !test.want(r) {
			t.Errorf("%s: %+v", test.name, r.MachineState)
		}
	}
}
