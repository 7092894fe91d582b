package main

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
)

// withRemote calls fill, which compiles in child processes, as a start that uses the remote
// of the environment: children leave that to their parent. Without a remote, or where it
// cannot be used, which is logged, it only calls fill.
func (o *options) withRemote(dir *binary.Dir, fill func() error) error {
	ro, err := fleet.FromEnvironment(fleet.Options{Logger: o.Logger()})
	if err == nil && (ro.URL == "" || ro.Mode == fleet.Off) {
		return fill()
	}
	var r *fleet.Remote
	if err == nil {
		r, err = fleet.Open(dir, ro)
	}
	if err != nil {
		o.Logger().Warn("the remote is not used", "reason", err)
		return fill()
	}
	r.Prepare()
	if fingerprint, err := o.CurrentFingerprint(); err == nil { // else fill returns the error
		r.Start(context.Background(), fingerprint)
	}
	return errors.Join(fill(), r.Close())
}
