//go:build unix

package s3

import (
	"testing"

	"github.com/shadercache/shadercache/fleet/remotetest"
)

func TestCredentialsOfAFIFO(t *testing.T) {
	remotetest.RefusesFIFO(t, openURL, "s3", "HOME", ".aws/credentials")
}
