module github.com/shadercache/shadercache/lab/bench/peers/gonumpeer

go 1.26.0

require (
	github.com/shadercache/shadercache v0.0.0
	gonum.org/v1/gonum v0.17.0
)

require (
	github.com/go-gl/gl v0.0.0-20231021071112-07e5d0ea2e71 // indirect
	github.com/google/renameio/v2 v2.0.2 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	go.etcd.io/bbolt v1.5.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/shadercache/shadercache => ../../../..
