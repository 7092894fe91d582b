// Package cachetest holds a fake device and a fake store, for tests of code that
// uses package cache on machines without a GPU or a disk.
//
//	dev := cachetest.NewDevice()
//	store := cachetest.NewStore()
//	c, err := cache.New(dev, cache.Options{Store: store})
//	...
//	dev.Verify(t) // after Close: no program leaked, deleted twice or used after deletion
//
// Both count their calls, fail on request and can be made to hang, so that a test
// can assert how the code behaves and what it costs.
package cachetest
