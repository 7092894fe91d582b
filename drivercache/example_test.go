package drivercache_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/drivercache"
)

// A program that makes its own context and wants layer two alone sets the directory of the
// driver's cache first of all, before anything loads the driver. It is the directory that
// shadercache export, push and prune know.
func ExampleManage() {
	dir, err := os.MkdirTemp("", "app-") // an application has binary.Place
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	state := drivercache.Manage(filepath.Join(dir, "driver"))
	fmt.Println(state.Managed, state.Dir == filepath.Join(dir, "driver"))
	// Now the program makes its context: EGL, GLFW, an engine.

	// Output: true true
}
