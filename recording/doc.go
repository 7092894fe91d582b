// Package recording reads recordings: folders with the programs that applications gave to
// OpenGL, in any language, and the order in which each process linked them. The command
// "shadercache exec --record" writes them, and "shadercache preload" has the driver of
// another machine compile them. docs/recording.md is the format.
//
// Every byte of a recording is checked before it is used: a file has to have the digest
// that is its name, and the form that docs/recording.md describes. A bad file costs its
// one program.
package recording
