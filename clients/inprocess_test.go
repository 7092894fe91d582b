//go:build linux

package clients_test

func runInProcess() {}
