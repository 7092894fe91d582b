package cli

import (
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// Program is a program on disk that one driver has.
type Program struct {
	Key    shader.Key `json:"key"`    // SHA-256 that identifies the program
	Driver string     `json:"driver"` // folder in the cache directory
	binary.Entry
}

// NewProgram returns an entry of the store of a driver.
func NewProgram(driver string, e binary.Entry) Program {
	e.DriverEntries = "" // names of hundreds of files
	return Program{e.Key, driver, e}
}
