//go:build linux

package systemtest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/imaging"
)

// bothDevices returns a GPU of this process and one of a server process.
func bothDevices(b *testing.B) map[string]shadercache.Device {
	server := startServer(b)
	devices := map[string]shadercache.Device{}
	for name, option := range map[string]string{"own": "off", "served": server.path} {
		d, err := shadercache.Connect(b.Context(), shadercache.Options{Dir: b.TempDir(), Server: option})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { d.Close() })
		devices[name] = d
	}
	return devices
}

// alternate runs work on both devices in turn, so that both find the same load, and reports
// the medians and the least times. ns/op is of both.
func alternate(b *testing.B, devices map[string]shadercache.Device, work func(d shadercache.Device) error) {
	times := map[string][]time.Duration{}
	for _, d := range devices { // programs are loaded
		if err := work(d); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		for name, d := range devices {
			begin := time.Now()
			if err := work(d); err != nil {
				b.Fatal(err)
			}
			times[name] = append(times[name], time.Since(begin))
		}
	}
	for name, list := range times {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Nanoseconds()), "ns-median-"+name)
		b.ReportMetric(float64(list[0].Nanoseconds()), "ns-least-"+name)
	}
}

// BenchmarkDeviceGet gets and releases a resident program.
func BenchmarkDeviceGet(b *testing.B) {
	for name, d := range bothDevices(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := d.Get(b.Context(), scaled)
				if err != nil {
					b.Fatal(err)
				}
				p.Release()
			}
		})
	}
}

// BenchmarkDeviceJob is a job of 4 KiB in and out, and BenchmarkDevicePlan the first filter
// of shadercache run, with its plan.
func BenchmarkDeviceJob(b *testing.B) {
	devices := bothDevices(b)
	programs := map[shadercache.Device]shadercache.Program{}
	for _, d := range devices {
		p, err := d.Get(b.Context(), scaled)
		if err != nil {
			b.Fatal(err)
		}
		programs[d] = p
	}
	alternate(b, devices, func(d shadercache.Device) error {
		job, _, _ := scaledJob(programs[d], 1024)
		return d.Run(b.Context(), job)
	})
}

func BenchmarkDevicePlan(b *testing.B) {
	size := imaging.Sample().Bounds().Size()
	shape := conv2d.Problem{N: 3, C: 1, H: size.Y + 2, W: size.X + 2, K: 1, R: 3, S: 3}.Shape()
	choice := conv2d.Choice{Algorithm: "direct", Params: conv2d.DirectParams{Local: 64}}
	input := conv2d.RandomValues(shape.Conv2D.InputLen(), 1)
	weights := conv2d.RandomValues(9, 2)
	alternate(b, bothDevices(b), func(d shadercache.Device) error {
		return runPlan(b.Context(), d, shape, choice, input, weights)
	})
}

// runPlan makes a plan, runs it once and checks that every element was written.
func runPlan(ctx context.Context, d shadercache.Device, shape conv2d.Shape, choice conv2d.Choice, input, weights []float32) error {
	p, err := conv2d.OpenPlan(ctx, d, conv2d.DevicePlanOptions{Choice: &choice}, shape)
	if err != nil {
		return err
	}
	defer p.Release()
	if _, err := p.SetWeights(ctx, 1, weights, nil); err != nil {
		return err
	}
	output := poisoned(p.Info().Output)
	if err := p.Run(ctx, input, output); err != nil {
		return err
	}
	if i := slices.IndexFunc(output, func(v float32) bool { return v != v }); i >= 0 {
		return fmt.Errorf("element %d was not written", i)
	}
	return nil
}
