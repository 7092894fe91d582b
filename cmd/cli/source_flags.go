package cli

import (
	"fmt"
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// SourceFlags say how shader files are read, for every command that reads them.
type SourceFlags struct {
	Defines Defines  `flag:"define,D" help:"define a preprocessor NAME=VALUE for all files" value:"NAME=VALUE"`
	Include []string `flag:"include,I" help:"search DIR for #include, after the folder of the file (repeatable)" value:"DIR" files:"/"`
}

// Options returns them with the parts that packages of shadercache ship.
func (f *SourceFlags) Options() shader.FileOptions {
	return shader.FileOptions{Defines: shader.Defines(f.Defines), Include: f.Include, Shipped: shippedIncludes{}}
}

// Defines is a flag that collects NAME=VALUE; NAME alone is NAME=1, as for compilers.
type Defines shader.Defines

func (d *Defines) Type() string { return "NAME=VALUE" }

func (d *Defines) String() string { return "" }

func (d *Defines) Set(text string) error {
	name, value, found := strings.Cut(text, "=")
	if name == "" {
		return fmt.Errorf("%q is not NAME=VALUE", text)
	}
	if !found {
		value = "1"
	}
	if *d == nil {
		*d = Defines{}
	}
	(*d)[name] = value
	return nil
}
