// Package devices makes one device of several GPUs.
//
// A [Group] is a shadercache.Device: what runs on one GPU runs on a group with the line
// that opens it changed. Independent jobs are spread over the GPUs.
//
//	group, err := devices.Open(devices.Options{Device: shadercache.Options{}})
//	defer group.Close()
//	program, err := group.Get(ctx, source)
//	pending, err := group.Submit(ctx, &job.Job{...})
//
// # Words
//
//	group      several devices that are used as one
//	member     a device of a group: a context, thread, cache and executor of its own, or
//	           those of a server. Members are numbered from 0, as they were given
//	rank       the number of a member
//	stream     jobs that run one after the other
//	placement  where the bytes of a buffer are: on one member, in a replica on each, or
//	           split along a dimension
//	part       what a member has of a split buffer
//	exchange   all members give bytes to their neighbours, and take theirs, in one call
//	topology   which members are neighbours: a ring, a mesh or a tree
//
// # Jobs
//
// A job goes to the member that its buffers and textures are on. One without, or with
// replicas that it only reads, goes to the member that has the fewest jobs to finish. Jobs of
// a [Stream] run in the order of Submit; those of different streams, and of none, in any order.
//
// # Programs
//
// Get returns a program when one member has it. The others get it in the background: from
// the directory, or, where a program had to be compiled, from the binary of the member
// that compiled it.
//
// # Memory
//
// GPUs do not share memory in OpenGL: contexts share objects on one device only. What goes
// from one member to another goes through the host.
//
// # Failures
//
// A failure of one member is a *[DeviceError], which has its rank. A member whose context
// is lost gets no more jobs, and the others continue. With Options.MoveJobs its jobs run
// on another member, where they can: see there.
package devices
