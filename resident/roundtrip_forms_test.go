//go:build linux

package resident

import (
	_ "embed"
	"sync/atomic"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/residenttest"
)

//go:embed testdata/roundtrip.comp
var roundTripText string

// roundTripForm is one way to send a word to a running kernel and to receive its answer.
type roundTripForm struct {
	name     string
	defines  defines
	requests glctx.MapOptions
	answers  *glctx.MapOptions // nil: in the memory of the requests
	store    func(at *uint32, word uint32)
	pause    bool // between polls of the host
	locked   bool // the host's goroutine keeps its thread
}

// defines holds numbers for the preprocessor.
type defines map[string]int

// Ways to store.
var (
	storeAtomic  = atomic.StoreUint32
	storePlain   = func(at *uint32, word uint32) { *at = word }
	storeDrained = func(at *uint32, word uint32) { *at = word; residenttest.Drain() }
	storeStream  = residenttest.Stream
)

// Kinds of memory.
var (
	hostMemory       = glctx.MapOptions{}
	serverMemory     = glctx.MapOptions{ServerStorage: true}
	hostWriteOnly    = glctx.MapOptions{WriteOnly: true}
	serverWriteOnly  = glctx.MapOptions{WriteOnly: true, ServerStorage: true}
	serverIncoherent = glctx.MapOptions{WriteOnly: true, ServerStorage: true, Incoherent: true}
	hostReadOnly     = glctx.MapOptions{ReadOnly: true}
	serverReadOnly   = glctx.MapOptions{ReadOnly: true, ServerStorage: true}
)

// roundTripForms returns forms that differ from "minimal" as named. A write-combining
// mapping is drained after each store, since an atomic store there would read over the
// bus.
func roundTripForms() []roundTripForm {
	return []roundTripForm{
		{name: "minimal"},
		{name: "poll=atomicAdd", defines: defines{"POLL": 1}},
		{name: "poll=atomicOr", defines: defines{"POLL": 2}},
		{name: "poll=uvec4", defines: defines{"WIDE": 1}},
		{name: "poll=2_in_flight", defines: defines{"PIPE": 2}},
		{name: "poll=4_in_flight", defines: defines{"PIPE": 4}},
		{name: "poll=32_lanes_at_once", defines: defines{"LANES": 32, "POLL_EVERY": 1}},
		{name: "poll=one_of_32_lanes", defines: defines{"LANES": 32}},
		{name: "poll=2_warps", defines: defines{"LANES": 64}},
		{name: "poll=4_warps", defines: defines{"LANES": 128}},
		{name: "poll=8_warps", defines: defines{"LANES": 256}},
		{name: "answer=atomicExchange", defines: defines{"ANSWER": 1}},
		{name: "answer=and_barrier", defines: defines{"FENCE": 1}},
		{name: "answer=same_line", defines: defines{"ANSWER_AT": 4}},
		{name: "answer=own_page", defines: defines{"ANSWER_AT": 1024}},
		{name: "kernel=volatile_only", defines: defines{"VOLATILE_ONLY": 1}},
		{name: "kernel=work_16", defines: defines{"WORK": 16}},
		{name: "kernel=work_64", defines: defines{"WORK": 64}},
		{name: "host=pause", pause: true},
		{name: "host=locked_thread", locked: true},
		{name: "host=plain_store", store: storePlain},
		{name: "host=drained_store", store: storeDrained},
		{name: "host=streaming_store", store: storeStream},
		{name: "memory=server", requests: serverMemory},
		{name: "memory=server,drained", requests: serverMemory, store: storeDrained},
		{name: "memory=apart,host,host", answers: &hostMemory},
		{name: "memory=apart,host_w,host_r", requests: hostWriteOnly, answers: &hostReadOnly, store: storeDrained},
		{name: "memory=apart,server_w,host_r", requests: serverWriteOnly, answers: &hostReadOnly, store: storeDrained},
		{name: "memory=apart,server_w,host_r,streaming", requests: serverWriteOnly, answers: &hostReadOnly, store: storeStream},
		{name: "memory=apart,server_w,host", requests: serverWriteOnly, answers: &hostMemory, store: storeDrained},
		{name: "memory=apart,server_w,server_r", requests: serverWriteOnly, answers: &serverReadOnly, store: storeDrained},
		{name: "memory=apart,server_w_incoherent,host_r", requests: serverIncoherent, answers: &hostReadOnly, store: storeDrained},
		{name: "memory=apart,host,server", answers: &serverMemory},
		{name: "best=apart,server_w,host_r,4_warps", requests: serverWriteOnly, answers: &hostReadOnly, store: storeDrained, defines: defines{"LANES": 128}},
		{name: "best=apart,server_w,host_r,4_in_flight", requests: serverWriteOnly, answers: &hostReadOnly, store: storeDrained, defines: defines{"PIPE": 4}},
	}
}
