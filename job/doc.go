// Package job has what a GPU is asked to do, in one place: a [Job] and its dispatches, the
// [Device] that runs it, and the errors of both. It is pure Go, and package shadercache, which
// opens devices, has these types under the same names: Connect has a GPU of this process or of
// a server, devices.Open several as one.
//
//	ctx, cancel := context.WithTimeout(ctx, time.Second) // of the job, also in a server
//	defer cancel()
//	groups := [3]uint32{n / 64, 1, 1}
//	err := device.Run(ctx, &job.Job{
//		Inputs:   []job.Input{{Binding: 0, Data: pixels}},
//		Outputs:  []job.Output{{Binding: 1, To: result}},
//		Dispatch: job.Dispatch{Program: blur, Groups: groups, Uniforms: []job.Uniform{job.Float("radius", 2)}},
//		Then:     []job.Dispatch{{Program: sharpen, Groups: groups}},
//	})
//
// Every Device binds all that a compute program of OpenGL declares, buffers, uniforms, images,
// samplers and atomic counters, with the same results and errors. Calls of the host are for an
// executor of this process.
//
// What limits the time of a job: the deadline of the context that Submit gets, on each device;
// what the GPU has begun still runs and writes after it. In a server a job without a deadline has
// 30 s, and none more than 10 min (Deadline and Longest in server/options.go). A GPU that makes no
// progress is lost: after executor.Options.Timeout, in a server after its HangTime
// (server/watchdog.go).
//
// Package job/texel has the formats, the shapes and the samplers of textures, and their defaults.
package job
