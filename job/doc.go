// Package job has what a GPU is asked to do, in one place: a [Job] and its dispatches, the
// [Device] that runs it, and the errors of both. It is pure Go. A device of this process, one
// of a server and an executor take the same jobs, and package shadercache, which opens them, has
// these types under the same names; devices.Open has several GPUs as one.
//
// What limits the time of a job: the deadline of the context that Submit gets, on each device; on
// a GPU that makes no progress executor.Options.Timeout, in a server its HangTime
// (server/watchdog.go) and, for requests of other clients, Limits.Deadline (server/deadlines.go).
package job
