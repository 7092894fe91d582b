//go:build linux

package conv2d

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ParseLayer reads a layer without weights from one line of text: its shape and, where the
// writer makes the choice, a space and the choice as JSON. It fails for a shape that is
// not valid; whether an algorithm takes the parameters is known when a plan is made. The
// text may be untrusted.
func ParseLayer(line string) (Layer, error) {
	word, choice, chosen := strings.Cut(strings.TrimSpace(line), " ")
	shape, err := ParseShape(word)
	if err != nil {
		return Layer{}, err
	}
	if err := shape.Validate(); err != nil {
		return Layer{}, err
	}
	l := Layer{Name: shape.String(), Shape: shape}
	if !chosen {
		return l, nil
	}
	l.Choice = &Choice{}
	if err := json.Unmarshal([]byte(choice), l.Choice); err != nil {
		return Layer{}, fmt.Errorf("conv2d: the choice of %s: %w", word, err)
	}
	return l, nil
}

// Spec returns the text that ParseLayer reads. Equal layers have equal texts.
func (l Layer) Spec() string {
	if l.Choice == nil {
		return l.Shape.String()
	}
	choice, err := json.Marshal(l.Choice)
	if err != nil {
		return l.Shape.String() + " " + l.Choice.String() // unknown parameters, of which no plan is made
	}
	return l.Shape.String() + " " + string(choice)
}
