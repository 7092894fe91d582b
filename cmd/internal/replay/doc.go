// Package replay has the driver of this machine compile recordings, so that it finds in
// its own cache what the recorded applications will ask for. Programs are compiled in child
// processes, side by side: one that crashes the driver's compiler costs one program.
//
// What is left is machine code in the driver's part of a cache directory. The recorded
// applications find it where they run with that directory: by "shadercache exec", or with
// the variables of "shadercache env".
package replay
