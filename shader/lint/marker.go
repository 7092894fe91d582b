package lint

import "strings"

// marker is a comment for the lint, // lint:WORD REASON.
type marker struct {
	at     position
	word   string
	reason string
}

const (
	markLeader = "leader"
	markBudget = "budget"
)

// markerIn reads a comment's text; ok says whether it is a marker.
func markerIn(comment string, at position) (m marker, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(comment), "lint:")
	if !ok {
		return marker{}, false
	}
	word, reason, _ := strings.Cut(rest, " ")
	return marker{at, word, strings.TrimSpace(reason)}, true
}

func (c *checker) checkMarkers() {
	for _, m := range c.markers {
		switch {
		case m.word != markLeader && m.word != markBudget:
			c.report(Marker, m.at, "there is no marker lint:%s", m.word)
		case m.reason == "":
			c.report(Marker, m.at, "lint:%s gives no reason", m.word)
		}
	}
}

// excused says whether a marker stands on the line of at or above it.
func (c *checker) excused(word string, at position) bool {
	for _, m := range c.markers {
		if m.word == word && m.at.source == at.source && (m.at.line == at.line || m.at.line == at.line-1) {
			return true
		}
	}
	return false
}
