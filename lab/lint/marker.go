package lint

import (
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// marker is a comment that controls the lint: // lint:WORD REASON.
type marker struct {
	at     shader.Position
	word   string
	reason string
}

const (
	markLeader = "leader"
	markBudget = "budget"
)

// markerIn reads a comment and reports whether it is a marker.
func markerIn(comment shader.Comment) (m marker, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(comment.Text), "lint:")
	if !ok {
		return marker{}, false
	}
	word, reason, _ := strings.Cut(rest, " ")
	return marker{comment.Position, word, strings.TrimSpace(reason)}, true
}

func (c *checker) checkMarkers() {
	for _, m := range c.markers {
		switch {
		case m.word != markLeader && m.word != markBudget:
			c.report(markerRule, m.at, "there is no marker lint:%s", m.word)
		case m.reason == "":
			c.report(markerRule, m.at, "lint:%s gives no reason", m.word)
		}
	}
}

// excuse is a line that a marker excuses: its own, and the next one.
type excuse struct {
	word       string
	file, line int
}

func (c *checker) addMarkers(markers []marker) {
	c.markers, c.excuses = markers, map[excuse]bool{}
	for _, m := range markers {
		c.excuses[excuse{m.word, m.at.File, m.at.Line}] = true
		c.excuses[excuse{m.word, m.at.File, m.at.Line + 1}] = true
	}
}

// excused reports whether a marker of that word is on the line of at or on the one
// above.
func (c *checker) excused(word string, at shader.Position) bool {
	return c.excuses[excuse{word, at.File, at.Line}]
}
