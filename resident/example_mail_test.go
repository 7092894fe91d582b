//go:build linux

package resident_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/resident"
)

// stockText keeps a number for every group: kind 1 adds to it, kind 2 requests it.
const stockText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Stock { uint stock[]; };
uint residentStep(uvec2 step) {
    uvec3 message;
    if (!residentReceive(message)) {
        return RESIDENT_IDLE;
    }
    if (residentLeader()) {
        if (message.x == 1u) {
            stock[gl_WorkGroupID.x] += message.y;
        } else {
            residentSend(uvec3(2u, stock[gl_WorkGroupID.x], 0u));
        }
    }
    return RESIDENT_GO;
}
`

// Messages go to one group or to all of them, and each may answer.
func ExampleSession_Send() {
	gpu, err := shadercache.Open(shadercache.Options{NoExecutor: true, Cache: cache.Options{MemoryOnly: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()

	ctx := context.Background()
	const groups = 4
	kernel := resident.Kernel{
		Source: resident.MustSource("stock", stockText, nil),
		Groups: groups,
		State:  []resident.State{{Block: "Stock", Bytes: 4 * groups}},
	}
	session, err := resident.New(ctx, gpu.Context, gpu.Cache, kernel, resident.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if err := session.Start(0); err != nil {
		log.Fatal(err)
	}
	for _, delivery := range []struct{ group, amount uint32 }{{2, 30}, {resident.Broadcast, 5}, {0, 1}} {
		if err := session.Send(resident.Message{Group: delivery.group, Kind: 1, A: delivery.amount}); err != nil {
			log.Fatal(err)
		}
	}
	if err := session.Send(resident.Message{Group: resident.Broadcast, Kind: 2}); err != nil {
		log.Fatal(err)
	}
	var lines []string
	for range groups {
		m, err := session.Receive(ctx)
		if err != nil {
			log.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("group %d has %d", m.Group, m.A))
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	// Output:
	// group 0 has 6
	// group 1 has 5
	// group 2 has 35
	// group 3 has 5
}
