//go:build linux

package devices_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
	"github.com/shadercache/shadercache/shader"
)

// The processes of this file have a driver that fails at one dispatch of "victim".
const (
	failingProcess = "devices-fail"
	movingProcess  = "devices-move"
)

func init() {
	faultgl.OnProcess(failingProcess, func(dir string) (faultgl.Counters, error) { return faultgl.Counters{}, runVictims(dir, false) })
	faultgl.OnProcess(movingProcess, func(dir string) (faultgl.Counters, error) { return faultgl.Counters{}, runVictims(dir, true) })
}

const victims = 24

// runVictims runs jobs on three contexts, one of which is lost or out of memory meanwhile.
func runVictims(dir string, move bool) error {
	ctx := context.Background()
	g, err := devices.Open(devices.Options{MoveJobs: move, Device: shadercache.Options{Dir: dir, Devices: gltest.Devices(3), NoTrials: true}})
	if err != nil {
		return err
	}
	defer g.Close()
	p, err := g.Get(ctx, shader.MustSource("victim", "#version 450 core\n// victim\n"+scale, nil))
	if err != nil {
		return err
	}
	defer p.Release()
	for rank := range 3 {
		if _, err := devices.On(ctx, p, rank); err != nil {
			return err
		}
	}
	failed, err := waitForVictims(ctx, g, p)
	if err != nil {
		return err
	}
	return judgeVictims(g, failed, move)
}

// waitForVictims returns the errors of jobs, and an error where a result is wrong.
func waitForVictims(ctx context.Context, g *devices.Group, p shadercache.Program) (failed []error, err error) {
	var pending [victims]shadercache.Pending
	var outs [victims][]byte
	for i := range uint32(victims) {
		job, out := scaleJob(p, i)
		outs[i] = out
		if pending[i], err = g.Submit(ctx, job); err != nil {
			failed = append(failed, err)
		}
	}
	for i := range pending {
		if pending[i] == nil {
			continue
		}
		if err := pending[i].Wait(ctx); err != nil {
			failed = append(failed, err)
			continue
		}
		want, wantOut := scaleJob(p, uint32(i))
		for k := 0; k < len(wantOut); k += 4 {
			in := want.Inputs[0].Data[k : k+4]
			x := uint32(in[0]) | uint32(in[1])<<8 | uint32(in[2])<<16 | uint32(in[3])<<24
			x = x*3 + uint32(i)
			if !slices.Equal(outs[i][k:k+4], []byte{byte(x), byte(x >> 8), byte(x >> 16), byte(x >> 24)}) {
				return nil, fmt.Errorf("job %d: word %d is wrong, without an error", i, k/4)
			}
		}
	}
	return failed, nil
}

// judgeVictims checks that one member is lost, that the others have none of its errors,
// and that jobs failed only where they may.
func judgeVictims(g *devices.Group, failed []error, move bool) error {
	var lost []int
	for rank, s := range g.MemberStats() {
		if s.Error != "" {
			lost = append(lost, rank)
		}
	}
	if len(lost) != 1 {
		return fmt.Errorf("%d members are lost: %+v", len(lost), g.MemberStats())
	}
	if move && len(failed) > 0 || !move && len(failed) == 0 {
		return fmt.Errorf("moving: %v, and %d jobs failed: %w", move, len(failed), errors.Join(failed...))
	}
	for _, err := range failed {
		var of *devices.DeviceError
		if !errors.As(err, &of) || of.Rank != lost[0] || !errors.Is(err, shadercache.ErrLost) || !strings.Contains(err.Error(), "llvmpipe") {
			return fmt.Errorf("an error of device %d is %w", lost[0], err)
		}
	}
	return nil
}

// Where the driver loses one of three contexts, its jobs fail with its rank or are done by
// the others, and those of the others are right.
func TestOneContextIsLost(t *testing.T) {
	gltest.Open(t)
	environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Lost, At: "glDispatchCompute", Call: 5, Source: "victim"})
	faultgl.Run(t, failingProcess, t.TempDir(), environment...)
	faultgl.Run(t, movingProcess, t.TempDir(), environment...)
}
