package executor

import "github.com/shadercache/shadercache/job"

// The types of package job that only tests name here, whose variables are named job.
type (
	HostCall      = job.HostCall
	Sampled       = job.Sampled
	Image         = job.Image
	Counter       = job.Counter
	Block         = job.Block
	Indirect      = job.Indirect
	TextureInput  = job.TextureInput
	TextureOutput = job.TextureOutput
)
