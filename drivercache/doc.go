// Package drivercache manages layer two: the GL driver's own cache of machine code. A
// program binary alone does not avoid the compile, since drivers generate the machine
// code at the first dispatch and keep it in this cache.
//
// [Manage] sets the directory of the driver's cache, before the driver is loaded. It
// needs no other package of this module: a program that uses only layer two calls it
// first and makes its context as before. Packages nvidia and mesa have the rules of
// one driver each.
//
// # What owns a byte
//
// The driver writes what is in the directory, and its entries belong to programs of layer
// one. What happens in the directory between [Begin] and [Work.End] belongs to the program
// that the driver works on, and is recorded with it; a prune deletes an entry with the last
// program that has it, and one that no program has by its age.
//
//	driver/mesa/mesa_shader_cache/   a file an entry, of all processes
//	driver/mesa/.../index, marker    mapped by every process that runs: never deleted
//	driver/nvidia/GLCache/../../     slots: records of one process each, in shadercache<n>.toc, .bin
//	driver.lock                      shared by processes whose driver uses the directory, for as
//	                                 long as they run; a byte of it is the number of a process
//	driver.drop                      records to delete as soon as no process runs, unless they are added again
//	driver.filled, driver.filling/   what was copied from upstream, and is on its way
//	driver.aside/, driver.suspect    what a driver may have crashed of, and that it may
//
// Mesa's files are whole and never change, so that processes add and delete them freely.
// A slot has one owner at a time, and nothing else writes it:
//
//	its process   from its number on, until its end
//	the filler    one process that starts: it copies what the others have into its own slot,
//	              and deletes slots of processes that ended
//	Merge         a process that has driver.lock alone: all slots become slot 0
//	Drop          likewise: without the records that are listed
//
// The system releases locks and numbers of a process at its end, however it ends, so that
// nothing has to be cleaned up. The lock file is beside the directory, so that drivers and
// pruning do not find it.
package drivercache
