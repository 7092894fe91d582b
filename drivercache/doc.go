// Package drivercache manages layer two: the GL driver's own cache of machine code. A
// program binary alone does not avoid the compile, since drivers generate the machine
// code at the first dispatch and keep it in this cache.
//
// [Manage] sets the directory of the driver's cache, before the driver is loaded. It
// needs no other package of this module: a program that uses only layer two calls it
// first and makes its context as before. Packages nvidia and mesa have the rules of
// one driver each.
//
// A process whose driver uses the directory holds a shared [Lock] on it until the
// process ends; [Merge] takes it exclusively. Of NVIDIA's driver each process has a slot
// of its own, which is filled from those of the others before its first program. The lock file is beside the directory,
// driver.lock for driver, so that drivers and pruning do not find it. The operating
// system releases the locks of a process at its end.
package drivercache
