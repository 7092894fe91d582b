package main

import (
	"testing"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/pack"
)

// TestAddKeyAgain: the first add may have been cut off between the list and the heads, so the
// second one is no error. A key that was revoked stays so.
func TestAddKeyAgain(t *testing.T) {
	path := t.TempDir() + "/ci.key"
	if err := pack.GenerateKey(path); err != nil {
		t.Fatal(err)
	}
	var l fleet.KeyList
	file := []string{path + ".pub"}
	for range 2 {
		if err := addKey(&l, file); err != nil || len(l.Keys) != 1 {
			t.Fatalf("%d keys, %v", len(l.Keys), err)
		}
	}
	if err := revokeKey(&l, file); err != nil {
		t.Fatal(err)
	}
	if addKey(&l, file) == nil || l.Keys[0].Revoked.IsZero() {
		t.Error("a key that was revoked may sign again")
	}
}
