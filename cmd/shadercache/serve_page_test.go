//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/cmd/internal/browsertest"
	"github.com/shadercache/shadercache/server/client"
)

// TestLivePage opens the page of a server in a browser: its figures are those of /status,
// and follow what a client does.
func TestLivePage(t *testing.T) {
	t.Parallel()
	b := browsertest.Open(t)
	s := serveProcess(t, nil, "--status", "127.0.0.1:0")
	page := b.Page(1280, 800)
	page.Go(s.result.Pages + "/")
	awaitFigure(page, "hits", "0")
	for range 2 { // the second one finds the programs resident
		cmd := clitest.SelfAs(t, "shadercache", "preload", "--server", s.path, "gemm_small", "conv2d_3x3")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	broken := filepath.Join(t.TempDir(), "broken.comp")
	if err := os.WriteFile(broken, []byte("void main() { no; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _ = clitest.SelfAs(t, "shadercache", "preload", "--server", s.path, broken).CombinedOutput() // it fails
	awaitFigure(page, "errors", "1")
	status := readPageStatus(t, s.result.Pages)
	made := status.Cache.Counters
	if made.ResidentHits == 0 {
		t.Error("the second preload found nothing resident")
	}
	for id, want := range map[string]uint64{"clients": 0, "queue": 0, "errors": status.Counters.Failed,
		"hits": made.ResidentHits + made.MemoryHits + made.DiskHits, "memory": status.NamedBytes} {
		awaitFigure(page, id, strconv.FormatUint(want, 10))
	}
	var rows int
	page.Eval(`document.querySelectorAll("#error-rows td.wrong").length`, &rows)
	if rows != 1 {
		t.Errorf("the page lists %d failed requests of 1", rows)
	}
	for _, width := range []int{1280, 360} {
		page.Resize(width, 800)
		for _, dark := range []bool{false, true} {
			page.Dark(dark)
			page.WantLegible(fmt.Sprintf("%d pixels, dark %v", width, dark))
			if dir := os.Getenv("SHADERCACHE_SCREENSHOTS"); dir != "" {
				page.Screenshot(filepath.Join(dir, fmt.Sprintf("server-%d-dark-%v.png", width, dark)), true)
			}
		}
		page.WantNoScroll()
	}
	wantPause(t, page)
	page.WantNoErrors()
}

// TestLivePageOfSeveralDevices opens the page of a server with two devices: its figures are
// those of both, and each has a row.
func TestLivePageOfSeveralDevices(t *testing.T) {
	t.Parallel()
	b := browsertest.Open(t)
	s := serveProcess(t, nil, "--device", "0,0", "--status", "127.0.0.1:0")
	for _, c := range []*client.Client{s.dial(), s.dial()} {
		if _, err := c.NamedBuffer(t.Context(), "buffer"+strconv.Itoa(c.Welcome().Number), 4096); err != nil {
			t.Fatal(err)
		}
	}
	page := b.Page(360, 800)
	page.Go(s.result.Pages + "/")
	awaitFigure(page, "clients", "2")
	awaitFigure(page, "memory", "8192")
	var devices, clients []string
	page.Eval(`[...document.querySelectorAll("#device-rows tr")].map(row => row.cells[0].textContent + row.cells[2].textContent + row.cells[7].textContent)`, &devices)
	page.Eval(`[...document.querySelectorAll("#client-rows tr")].map(row => row.cells[0].textContent)`, &clients)
	if strings.Join(devices, " ") != "01serves 11serves" || strings.Join(clients, " ") != "0 1" {
		t.Errorf("devices %q, clients %q", devices, clients)
	}
	page.WantLegible("two devices")
	page.WantNoScroll()
	page.WantNoErrors()
}

// awaitFigure waits until a figure has a value.
func awaitFigure(page *browsertest.Page, id, value string) {
	page.Eval(fmt.Sprintf(`new Promise((resolve, reject) => {
		const began = Date.now(), figure = document.getElementById(%q)
		const wait = () => {
			if (figure.dataset.value === %q) resolve(true)
			else if (Date.now() - began > 50000) reject(new Error(figure.id + " is " + figure.dataset.value + ", not " + %q))
			else setTimeout(wait, 20)
		}
		wait()
	})`, id, value, value), nil)
}

// wantPause pauses the page with the keyboard, and continues it.
func wantPause(t *testing.T, page *browsertest.Page) {
	t.Helper()
	page.Eval(`document.getElementById("pause").focus()`, nil)
	for _, want := range []string{"paused", "live"} {
		page.Enter()
		page.Eval(fmt.Sprintf(`new Promise((resolve, reject) => {
			const began = Date.now(), state = document.getElementById("state")
			const wait = () => {
				if (state.textContent === %q) resolve(true)
				else if (Date.now() - began > 50000) reject(new Error("the page is " + state.textContent))
				else setTimeout(wait, 20)
			}
			wait()
		})`, want), nil)
	}
}

// pageStatus is what the test reads of /status.
type pageStatus struct {
	NamedBytes uint64 `json:"named_bytes"`
	Counters   struct{ Failed uint64 }
	Cache      struct {
		Counters struct {
			ResidentHits uint64 `json:"resident_hits"`
			MemoryHits   uint64 `json:"memory_hits"`
			DiskHits     uint64 `json:"disk_hits"`
			Compiles     uint64
		}
	}
}

func readPageStatus(t *testing.T, address string) (status pageStatus) {
	t.Helper()
	reply, err := http.Get(address + "/status")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	var report struct{ Devices []pageStatus }
	if err := json.NewDecoder(reply.Body).Decode(&report); err != nil {
		t.Fatal(err)
	}
	return report.Devices[0]
}
