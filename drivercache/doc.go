// Package drivercache manages layer two: the cache of machine code that a GL driver
// keeps for itself. A program binary alone does not remove the compile, since
// drivers make the machine code at the first dispatch and keep it there.
//
// [Manage] points the driver at a directory of the caller's, before the driver is
// loaded. It needs nothing else of this module: a program that wants only layer two
// calls it first and makes its context as before. Packages nvidia and mesa know what
// one driver does differently.
//
// A process whose driver uses the directory holds a shared [Lock] on it until the
// process ends; [Merge] takes it exclusively. The lock is a file beside the
// directory, driver.lock for driver, so that neither drivers nor pruning meet it.
// The operating system releases the locks of a process that ends, however it ends.
package drivercache
