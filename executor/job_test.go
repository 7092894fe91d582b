package executor

import "github.com/shadercache/shadercache/job"

// The types of package job that tests name here, whose variables are named job.
type (
	Job           = job.Job
	Dispatch      = job.Dispatch
	Bound         = job.Bound
	Input         = job.Input
	Output        = job.Output
	HostCall      = job.HostCall
	Sampled       = job.Sampled
	Image         = job.Image
	Counter       = job.Counter
	Block         = job.Block
	Indirect      = job.Indirect
	TextureInput  = job.TextureInput
	TextureOutput = job.TextureOutput
)
