package main

import "github.com/shadercache/shadercache/internal/cli"

// options are the global flags and the streams, with the work of each command as a
// method.
type options struct{ cli.Options }
