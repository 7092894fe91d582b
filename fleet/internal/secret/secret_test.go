package secret

import (
	"errors"
	"fmt"
	"net/url"
	"testing"
)

// The query of a URL may be a signature: who reads it reads what it is for.
func TestQueriesOfURLs(t *testing.T) {
	refused := errors.New("refused")
	for text, want := range map[string]string{
		"https://store/sha256-1?X-Amz-Signature=SECRET&se=SECRET": `get: Get "https://store/sha256-1?xxxxx": refused`,
		"http://store:1/blob?sig=a%22b":                           `get: Get "http://store:1/blob?xxxxx": refused`,
		"https://store/sha256-1":                                  `get: Get "https://store/sha256-1": refused`,
	} {
		err := new(Texts).Clean(fmt.Errorf("get: %w", &url.Error{Op: "Get", URL: text, Err: refused}))
		if err.Error() != want || !errors.Is(err, refused) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
