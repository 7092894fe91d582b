package browsertest

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"
)

// Page is a tab of a browser. Its methods end the test on an error of the browser.
type Page struct {
	t       testing.TB
	browser *Browser
	session string
	loaded  chan struct{}

	mu     sync.Mutex
	errors []string
}

// Page opens a tab of a size in pixels.
func (b *Browser) Page(width, height int) *Page {
	b.t.Helper()
	p := &Page{t: b.t, browser: b, loaded: make(chan struct{}, 1)}
	var target struct {
		TargetID string `json:"targetId"`
	}
	p.check(b.pipe.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target))
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	p.check(b.pipe.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached))
	p.session = attached.SessionID
	b.pipe.mu.Lock()
	b.pipe.mu.events[p.session] = p.event
	b.pipe.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		p.call(domain+".enable", nil, nil)
	}
	p.Resize(width, height)
	return p
}

func (p *Page) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("browser: %v", err)
	}
}

func (p *Page) call(method string, params, result any) {
	p.t.Helper()
	if params == nil {
		params = struct{}{}
	}
	p.check(p.browser.pipe.call(p.session, method, params, result))
}

// event receives an event of the page.
func (p *Page) event(m message) {
	switch m.Method {
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Runtime.exceptionThrown":
		p.addError(string(m.Params))
	case "Runtime.consoleAPICalled":
		var called struct{ Type string }
		if json.Unmarshal(m.Params, &called) == nil && (called.Type == "error" || called.Type == "assert") {
			p.addError(string(m.Params))
		}
	case "Log.entryAdded":
		var added struct{ Entry struct{ Level string } }
		if json.Unmarshal(m.Params, &added) == nil && added.Entry.Level == "error" {
			p.addError(string(m.Params))
		}
	}
}

func (p *Page) addError(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errors = append(p.errors, text)
}

// Errors returns what the page has reported as an error: exceptions, the console's errors,
// and resources that could not be loaded.
func (p *Page) Errors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.errors...)
}

// Go opens a URL and returns when it is loaded, with the time that it took.
func (p *Page) Go(url string) time.Duration {
	p.t.Helper()
	began := time.Now()
	select {
	case <-p.loaded:
	default:
	}
	var result struct{ ErrorText string }
	p.call("Page.navigate", map[string]any{"url": url}, &result)
	if result.ErrorText != "" {
		p.t.Fatalf("browser: %s: %s", url, result.ErrorText)
	}
	select {
	case <-p.loaded:
	case <-time.After(callTime):
		p.t.Fatalf("browser: %s is not loaded", url)
	}
	return time.Since(began)
}

// Resize sets the size of the window in pixels.
func (p *Page) Resize(width, height int) {
	p.t.Helper()
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Dark chooses the scheme that the page is shown in.
func (p *Page) Dark(dark bool) {
	p.t.Helper()
	value := "light"
	if dark {
		value = "dark"
	}
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": value}}}, nil)
}

// Eval evaluates an expression, waits for it where it is a promise, and decodes its value
// into result, which may be nil.
func (p *Page) Eval(expression string, result any) {
	p.t.Helper()
	var reply struct {
		Result    struct{ Value json.RawMessage }
		Exception *struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	p.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &reply)
	if e := reply.Exception; e != nil {
		p.t.Fatalf("browser: %s %s", e.Text, e.Exception.Description)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(reply.Result.Value, result); err != nil {
		p.t.Fatalf("browser: value %q: %v", reply.Result.Value, err)
	}
}

// Press presses a key that writes nothing, such as Tab.
func (p *Page) Press(key string, code int) {
	p.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		p.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
	}
}

// Enter presses the key that follows a link.
func (p *Page) Enter() {
	p.t.Helper()
	p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}, nil)
	p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}, nil)
}

// Screenshot writes a picture of the page, all of it or the part in the window, as PNG.
func (p *Page) Screenshot(path string, whole bool) {
	p.t.Helper()
	var shot struct{ Data string }
	params := map[string]any{"format": "png", "captureBeyondViewport": whole}
	if whole {
		var size struct{ W, H float64 }
		p.Eval(`({W: document.documentElement.clientWidth, H: document.documentElement.scrollHeight})`, &size)
		params["clip"] = map[string]any{"x": 0, "y": 0, "width": size.W, "height": size.H, "scale": 1}
	}
	p.call("Page.captureScreenshot", params, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	p.check(err)
}
