// Package faultgl makes OpenGL drivers fail on purpose, for tests.
//
// A library named libEGL.so.1 stands in front of the real one, forwards every call, and
// fails where the environment of the process says so: see [Fault]. It is written in C,
// below lib, and compiled once for all test runs. A test starts a child process with
// [Environment]; its own process keeps the real driver.
package faultgl
