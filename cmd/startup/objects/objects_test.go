package objects

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestStore(t *testing.T) {
	store := &Store{}
	server := httptest.NewServer(store)
	defer server.Close()
	tag := ""
	for _, step := range []struct {
		method, body, header, value string
		status                      int
		answer                      string
	}{
		{method: "GET", status: 404},
		{method: "PUT", body: "one", header: "If-None-Match", value: "*", status: 201},
		{method: "PUT", body: "two", header: "If-None-Match", value: "*", status: 412},
		{method: "GET", status: 200, answer: "one"},
		{method: "HEAD", status: 200},
		{method: "PUT", body: "two", header: "If-Match", value: `"other"`, status: 412},
		{method: "PUT", body: "two", header: "If-Match", value: "TAG", status: 201},
		{method: "GET", status: 200, answer: "two"},
		{method: "DELETE", status: 204},
		{method: "GET", status: 404},
		{method: "POST", status: 405},
	} {
		request, err := http.NewRequest(step.method, server.URL+"/a/b", strings.NewReader(step.body))
		if err != nil {
			t.Fatal(err)
		}
		if step.header != "" {
			request.Header.Set(step.header, strings.ReplaceAll(step.value, "TAG", tag))
		}
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != step.status || step.answer != "" && string(body) != step.answer {
			t.Errorf("%+v: %s, %q, %v", step, answer.Status, body, err)
		}
		if t := answer.Header.Get("ETag"); t != "" {
			tag = t
		}
	}
	if len(store.objects) != 0 {
		t.Errorf("%d objects are left", len(store.objects))
	}
}
