package wire

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// control is the text that kernels include.
const control = "../../kernels/resident_control.glsl"

// readWords returns the constants of words.go that are numbers.
func readWords(t *testing.T) map[string]int {
	return readNumbers(t, "words.go", `(?m)^\t(\w+) += (\S+)`)
}

// readNumbers returns the numbers of a file by their names, as the groups of a pattern have them.
func readNumbers(t *testing.T, file, pattern string) map[string]int {
	numbers := map[string]int{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(readFile(t, file), -1) {
		n, err := strconv.ParseInt(strings.TrimSuffix(m[2], "u"), 0, 64)
		if err != nil {
			t.Fatalf("%s: %s = %s: %v", file, m[1], m[2], err)
		}
		numbers[m[1]] = int(n)
	}
	if len(numbers) == 0 {
		t.Fatalf("%s has no numbers", file)
	}
	return numbers
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestKernelsHaveTheSameConstants compares the constants of the host, those that package
// resident exports among them, with those of kernels, by their names: FlagKeepIdle is
// RESIDENT_FLAG_KEEP_IDLE, InlineBit is RESIDENT_INLINE.
func TestKernelsHaveTheSameConstants(t *testing.T) {
	kernel := map[string]int{}
	for name, value := range readNumbers(t, control, `(?m)^#define RESIDENT_(\w+) (\w+)`) {
		if !strings.HasPrefix(name, "LINE_") {
			kernel[strings.ToLower(strings.ReplaceAll(name, "_", ""))] = value
		}
	}
	parts := strings.NewReplacer("Length", "", "Mask", "", "Bit", "", "SignalHalt", "Halted", "Signal", "")
	host := readWords(t)
	maps.Copy(host, readNumbers(t, "../../signal.go", `(?m)^\t(Signal\w+) +SignalKind = (\S+)`))
	maps.Copy(host, readNumbers(t, "../../mailbox.go", `(?m)^const (Broadcast) uint32 = (\S+)`))
	for name, value := range host {
		if strings.HasPrefix(name, "At") || strings.HasPrefix(name, "Shared") || strings.HasPrefix(name, "Work") || strings.HasSuffix(name, "Words") {
			continue // of the layout
		}
		name = strings.ToLower(parts.Replace(name))
		if at, ok := kernel[name]; !ok || at != value {
			t.Errorf("%s is %d for the host, and %d (%v) for kernels", name, value, at, ok)
		}
		delete(kernel, name)
	}
	if len(kernel) > 0 {
		t.Errorf("the host lacks %v", kernel)
	}
}

// TestKernelsHaveTheSameFields compares the words of the fields that the host uses, and asserts that none overlaps
// the one before it, that vectors are aligned, and that each field lies in the line, with its one
// writer, that it is listed under.
func TestKernelsHaveTheSameFields(t *testing.T) {
	words, fields := readWords(t), 0
	header := regexp.MustCompile(`^// Line \w+, written by \w.*\.$`)
	begin := regexp.MustCompile(`^#define RESIDENT_LINE_\w+ (\d+)u$`)
	field := regexp.MustCompile(`^#define resident(\w+) resident(?:Shared|Work)Lines\[(\d+)\](?:\.([xyzw]))? // `)
	line, next, before := 0, 0, ""
	for _, text := range strings.Split(readFile(t, control), "\n") {
		if m := begin.FindStringSubmatch(text); m != nil {
			vector, _ := strconv.Atoi(m[1])
			if line, next = 4*vector, 4*vector; line%16 != 0 || !header.MatchString(before) {
				t.Errorf("%s: behind %q", text, before)
			}
		} else if m := field.FindStringSubmatch(text); m != nil {
			vector, _ := strconv.Atoi(m[2])
			at, end := 4*vector+strings.Index("xyzw", m[3]), 4*vector+4
			if m[3] != "" {
				end = at + 1
			}
			if at < next || at >= line+16 {
				t.Errorf("%s is at word %d, behind word %d of the line at %d", m[1], at, next, line)
			}
			if got, ok := words["At"+m[1]]; ok && got != at {
				t.Errorf("%s is at word %d for the host, and at %d for kernels", m[1], got, at)
			}
			delete(words, "At"+m[1])
			fields, next = fields+1, end
		}
		before = text
	}
	if fields < 40 {
		t.Errorf("%d fields", fields)
	}
	arrays := []string{"AtInbox", "AtOutbox", "AtAddress", "AtSecondaryOutbox", "AtLogRing", "AtGroups"}
	for name := range words {
		if strings.HasPrefix(name, "At") && !slices.Contains(arrays, name) {
			t.Errorf("kernels have no field %s", name)
		}
	}
}

// TestKernelsHaveTheSameArrays compares the arrays behind the lines of each block.
func TestKernelsHaveTheSameArrays(t *testing.T) {
	words := readWords(t)
	lengths := readNumbers(t, control, `(?m)^#define (RESIDENT_(?:INBOX|OUTBOX|LOG)) (\d+)`)
	array := regexp.MustCompile(`^    (uvec4|uint) resident(\w+)\[(?:(\d+) \* )?(\w*)\];`)
	block, at, arrays := "", 0, 0
	for _, text := range strings.Split(readFile(t, control), "\n") {
		if _, name, ok := strings.Cut(text, " buffer Resident"); ok {
			block, at = strings.TrimSuffix(name, " {"), 0
		}
		m := array.FindStringSubmatch(text)
		if m == nil {
			if text == "};" && words[block+"Words"] != at {
				t.Errorf("%s has %d words for the host, and %d for kernels", block, words[block+"Words"], at)
			}
			continue
		}
		entry := 4
		if m[1] == "uint" {
			entry = 1
		}
		if n, err := strconv.Atoi(m[3]); err == nil {
			entry *= n
		}
		if n, err := strconv.Atoi(m[4]); err == nil { // the lines
			if at = n * entry; words[block+"Lines"] != at || at%16 != 0 {
				t.Errorf("%s has lines of %d words for the host, and of %d for kernels", block, words[block+"Lines"], at)
			}
			continue
		}
		if m[4] == "" {
			entry = words[m[2]+"Words"] // one for each group, of any number of vectors
		}
		if arrays++; words["At"+m[2]] != at || words[m[2]+"Words"] != entry || entry == 0 {
			t.Errorf("%s is at word %d, %d an entry, for the host, and at %d, %d an entry, for kernels",
				m[2], words["At"+m[2]], words[m[2]+"Words"], at, entry)
		}
		at += entry * lengths[m[4]]
	}
	if arrays != 6 {
		t.Errorf("%d arrays", arrays)
	}
}
