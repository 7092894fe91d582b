package main

import "github.com/shadercache/shadercache/cmd/cli"

// options holds the global flags and the streams. Commands are its methods.
type options struct{ cli.Options }
