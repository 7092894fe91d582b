//go:build linux

package glctx

// Foreign is for tests in package glctx_test.
var Foreign = foreign
