//go:build linux

package status

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// checked answers requests whose Host is an IP address, localhost, or the host of listened,
// and refuses others: a page of another site whose name leads here (DNS rebinding) could read
// all. What comes by no network, from the process that places sessions, is not checked.
func checked(pages http.Handler, listened string) http.Handler {
	own := hostOf(listened)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostOf(r.Host)
		_, notAddress := netip.ParseAddr(host)
		_, network := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
		if network && notAddress != nil && host != "localhost" && host != own {
			http.Error(w, "the host of the request is not this server's: use its IP address, or give serve --status the name", http.StatusForbidden)
			return
		}
		pages.ServeHTTP(w, r)
	})
}

// hostOf returns the host of an address, with or without a port, in lower case.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	return strings.ToLower(host)
}
