//go:build linux

// Command firstresult connects to a shadercache server, runs one job of 4 KiB in and out,
// or a small network, checks every word, and ends: the shortest client. The time from its
// exec to its end is what a start costs with a server.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/shader"
)

const text = `#version 450 core
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict readonly buffer In { uint x[]; };
layout(std430, binding = 1) restrict writeonly buffer Out { uint y[]; };
void main() { uint i = gl_GlobalInvocationID.x; y[i] = 3u * x[i] + 1u; }
`

func main() {
	if len(os.Args) != 2 && (len(os.Args) != 3 || os.Args[2] != "network") {
		fmt.Fprintln(os.Stderr, "usage: firstresult SOCKET [network]")
		os.Exit(2)
	}
	compute := run
	if len(os.Args) == 3 {
		compute = runNetwork
	}
	if err := compute(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "firstresult:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string) error {
	c, err := client.Dial(ctx, client.Options{Path: path})
	if err != nil {
		return err
	}
	p, err := c.Get(ctx, shader.MustSource("firstresult", text, nil))
	if err != nil {
		return err
	}
	const words = 1024
	in, got := make([]byte, 4*words), make([]byte, 4*words)
	for i := range uint32(words) {
		binary.LittleEndian.PutUint32(in[4*i:], 7*i)
		binary.LittleEndian.PutUint32(got[4*i:], 0xA5A5A5A5)
	}
	pending, err := c.Submit(ctx, &job.Job{
		Dispatch: job.Dispatch{Program: p, Groups: [3]uint32{words / 64, 1, 1}},
		Inputs:   []job.Input{{Binding: 0, Data: in}},
		Outputs:  []job.Output{{Binding: 1, To: got}},
	})
	if err == nil {
		err = pending.Wait(ctx)
	}
	if err != nil {
		return err
	}
	for i := range uint32(words) {
		if binary.LittleEndian.Uint32(got[4*i:]) != 21*i+1 {
			return errors.New("the result is wrong")
		}
	}
	fmt.Println("go: 0 of 1024 wrong")
	return nil // the end of the process ends the session
}
