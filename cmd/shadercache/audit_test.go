package main

import (
	"fmt"
	"os"

	"github.com/shadercache/shadercache/binary"
)

const forgeName = "forge"

// forgeMain puts the program with the name of the second argument under the key of the first:
// what a writer that was tampered with would push.
func forgeMain() {
	if err := forge(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func forge(name, by string) error {
	dir, err := binary.OpenDir(os.Getenv("SHADERCACHE_DIR"))
	if err != nil {
		return err
	}
	return dir.EachStore(func(_ string, store *binary.Store) error {
		blobs := map[string]*binary.Blob{}
		for e := range store.ByName() {
			b, err := store.Get(e.Key)
			if err != nil {
				return err
			}
			blobs[e.Name] = b
		}
		forged := *blobs[by]
		forged.Key, forged.Name = blobs[name].Key, name
		return store.Put(&forged)
	}, nil)
}
