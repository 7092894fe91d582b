package main

import (
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/doctor"
)

const doctorUsage = `Check for everything that is known to keep a cache from working, and print the
one command that fixes it.

  directory     none, unsafe, on a network, read-only, nearly full
  upstream      $SHADERCACHE_UPSTREAM cannot be used or read, or is empty
  driver        none, or it offers no program binary formats, or runs on the
                CPU although there is a GPU: what is missing for that
  gpu_memory    little is free; examined where the driver says
  driver_cache  off, too small, elsewhere by the environment, or a driver was
                loaded before its settings could be made, or slots of NVIDIA's
                driver that cannot be merged
  remote        $SHADERCACHE_REMOTE does not answer, is not signed by a known
                key, has nothing for this driver, or has another time; how long
                a pull takes, into a directory that is removed
  programs      damaged, or in quarantine because a process died of them
  binaries      not used, since the driver refuses its own, or by choice
  hits          programs are stored, yet compiled again and again
  exec          each start of a program of exec --report makes the driver add to
                its cache

With --device all every GPU that EGL lists is examined, with a section each:
what it is, the folder that serves it, and what was found about it. What GPUs of
one model share is found once for all of them.

It changes nothing, apart from making the cache directory where it is missing.

The exit code is 1 when something is wrong.`

func (o *options) doctorCommand() cli.Command {
	return cli.Command{
		Use:   "doctor [flags]",
		Short: "Find what keeps the cache from working",
		Long:  doctorUsage,
		Example: `  shadercache doctor --json | jq -r \
    '.findings[] | select(.level == "wrong").mend'`,
		GPUs: cli.SeveralGPUs, Result: doctor.Report{},
		Run: func(*cobra.Command, []string) (cli.Result, error) { return doctor.Examine(&o.Options), nil },
	}
}
