// Package clients has the clients of the server in other languages: c/shadercache.h and
// python/shadercache.py, each one file to copy. It has no Go code but their tests, which
// run both against the real server and against one that breaks the protocol, and their
// benchmark:
//
//	go test -tags egl -run '^$' -bench FirstResult -benchtime 100x ./server/clients
//
// docs/clients.md is the page for their users.
package clients
