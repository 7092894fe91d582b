package systemtest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// The picture carries the sum of the text that it was drawn from.
func TestPictureIsDrawnFromItsSource(t *testing.T) {
	source, err := os.ReadFile("docs/architecture.dot")
	if err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile("docs/architecture.svg")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(source)
	if want := "architecture.dot sha256 " + hex.EncodeToString(sum[:]); !strings.Contains(string(picture), want) {
		t.Error("docs/architecture.svg is not drawn from docs/architecture.dot: run make picture")
	}
}
