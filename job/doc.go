// Package job has what a GPU is asked to do, in one place: a [Job] and its dispatches, the
// [Device] that runs it, and the errors of both. It is pure Go. A device of this process, one
// of a server and an executor take the same jobs, and package shadercache, which opens them, has
// these types under the same names.
package job
