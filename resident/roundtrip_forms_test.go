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

// roundTripForm is one way to send a word to a running kernel and to get its
// answer.
type roundTripForm struct {
	name    string
	defines map[string]int
	asked   glctx.MapOptions
	apart   *glctx.MapOptions // of the answers; nil: they lie in the memory of the words
	store   func(at *uint32, word uint32)
	pause   bool // while the host looks for the answer
	locked  bool // the host's goroutine keeps its thread
}

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

// roundTripForms differ from "minimal" by what their names say. Memory that the
// host writes through a write-combining window is drained after each store, since
// an atomic store there would read over the bus.
func roundTripForms() []roundTripForm {
	d := func(pairs ...any) map[string]int {
		m := map[string]int{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1].(int)
		}
		return m
	}
	return []roundTripForm{
		{name: "minimal"},
		{name: "poll=atomicAdd", defines: d("POLL", 1)},
		{name: "poll=atomicOr", defines: d("POLL", 2)},
		{name: "poll=uvec4", defines: d("WIDE", 1)},
		{name: "poll=2_under_way", defines: d("PIPE", 2)},
		{name: "poll=4_under_way", defines: d("PIPE", 4)},
		{name: "poll=32_lanes_at_once", defines: d("LANES", 32, "POLL_EVERY", 1)},
		{name: "poll=one_of_32_lanes", defines: d("LANES", 32)},
		{name: "poll=2_warps", defines: d("LANES", 64)},
		{name: "poll=4_warps", defines: d("LANES", 128)},
		{name: "poll=8_warps", defines: d("LANES", 256)},
		{name: "answer=atomicExchange", defines: d("ANSWER", 1)},
		{name: "answer=and_barrier", defines: d("FENCE", 1)},
		{name: "answer=same_line", defines: d("ANSWER_AT", 4)},
		{name: "answer=own_page", defines: d("ANSWER_AT", 1024)},
		{name: "kernel=volatile_only", defines: d("VOLATILE_ONLY", 1)},
		{name: "kernel=work_16", defines: d("WORK", 16)},
		{name: "kernel=work_64", defines: d("WORK", 64)},
		{name: "host=pause", pause: true},
		{name: "host=locked_thread", locked: true},
		{name: "host=plain_store", store: storePlain},
		{name: "host=drained_store", store: storeDrained},
		{name: "host=streaming_store", store: storeStream},
		{name: "memory=server", asked: serverMemory},
		{name: "memory=server,drained", asked: serverMemory, store: storeDrained},
		{name: "memory=apart,host,host", apart: &hostMemory},
		{name: "memory=apart,host_w,host_r", asked: hostWriteOnly, apart: &hostReadOnly, store: storeDrained},
		{name: "memory=apart,server_w,host_r", asked: serverWriteOnly, apart: &hostReadOnly, store: storeDrained},
		{name: "memory=apart,server_w,host_r,streaming", asked: serverWriteOnly, apart: &hostReadOnly, store: storeStream},
		{name: "memory=apart,server_w,host", asked: serverWriteOnly, apart: &hostMemory, store: storeDrained},
		{name: "memory=apart,server_w,server_r", asked: serverWriteOnly, apart: &serverReadOnly, store: storeDrained},
		{name: "memory=apart,server_w_incoherent,host_r", asked: serverIncoherent, apart: &hostReadOnly, store: storeDrained},
		{name: "memory=apart,host,server", apart: &serverMemory},
		{name: "best=apart,server_w,host_r,4_warps", asked: serverWriteOnly, apart: &hostReadOnly, store: storeDrained, defines: d("LANES", 128)},
		{name: "best=apart,server_w,host_r,4_under_way", asked: serverWriteOnly, apart: &hostReadOnly, store: storeDrained, defines: d("PIPE", 4)},
	}
}
