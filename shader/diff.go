package shader

import "strings"

// LineDiff is the first line in which two texts differ. The line of a text that
// ends before it is "".
type LineDiff struct {
	Line   int    `json:"line"` // from 1, of Source.Text
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
}

// Diff returns the first line in which the text of other differs, or nil.
func (s *Source) Diff(other *Source) *LineDiff {
	if s.text == other.text {
		return nil
	}
	ours, theirs := s.text, other.text
	for line := 1; ; line++ {
		a, restA, _ := strings.Cut(ours, "\n")
		b, restB, _ := strings.Cut(theirs, "\n")
		if a != b || restA == "" && restB == "" {
			return &LineDiff{line, a, b}
		}
		ours, theirs = restA, restB
	}
}
