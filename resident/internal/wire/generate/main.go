// Command generate writes the files that are made from internal/wire/layout. It is
// run by go generate, in the folder internal/wire.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/resident/internal/wire/layout"
)

// folder is the path of the resident folder from internal/wire.
const folder = "../.."

func main() {
	if err := write(); err != nil {
		log.Fatal(err)
	}
}

func write() error {
	files, err := layout.Files()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(folder, f.Path), []byte(f.Text), 0o666); err != nil {
			return err
		}
	}
	return nil
}
