package shadercache

import (
	"crypto/ed25519"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache/fleet"
)

// A user must not choose, by the environment, what a backend runs and reads with the rights of
// another one.
func TestNoRemoteWithMoreRightsThanTheUser(t *testing.T) {
	key := []ed25519.PublicKey{make([]byte, ed25519.PublicKeySize)}
	for name, remote := range map[string]fleet.Options{
		"keys": {Keys: key}, "root keys": {Roots: key}, "unsigned": {Unsigned: true},
	} {
		remote.URL = "s3://bucket/fleet"
		if o := (Options{Remote: remote}); !o.hasRemote() {
			t.Errorf("%s: as the user itself it has none", name)
		}
		user := syscall.Getgid()
		if err := syscall.Setregid(65534, -1); err != nil {
			t.Skip(err)
		}
		o := Options{Remote: remote}
		has, privileged := o.hasRemote(), isPrivileged()
		if err := syscall.Setregid(user, -1); err != nil {
			t.Fatal(err)
		}
		if has || !privileged {
			t.Errorf("%s: has a remote %v, has more rights %v", name, has, privileged)
		}
	}
}
