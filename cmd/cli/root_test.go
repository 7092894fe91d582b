package cli

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"testing"
)

// TestServersPrintNothing has a server send bytes that nothing asked for, on a connection that is
// kept: net/http would print them.
func TestServersPrintNothing(t *testing.T) {
	var printed bytes.Buffer
	log.SetOutput(&printed)
	Process()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	answered, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		<-answered
		_, _ = io.WriteString(c, "HTTP/1.1 200 unasked\r\n\r\n")
		_, _ = io.Copy(io.Discard, c) // until the client has closed it, which it does after it has printed
	}()
	client := &http.Client{Transport: &http.Transport{}}
	response, err := client.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	close(answered)
	<-ended
	if printed.Len() > 0 {
		t.Errorf("printed: %q", printed.String())
	}
}
