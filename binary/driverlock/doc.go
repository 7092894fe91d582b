// Package driverlock keeps apart those who use the driver's own cache and those
// who rewrite it.
//
// A process whose driver uses the folder holds a shared lock for as long as the
// driver is loaded; merging takes the folder for itself, and only when nobody
// holds it. The lock is a file beside the folder, driver.lock for driver, so
// that neither drivers nor pruning meet it. The operating system gives up the
// locks of a process that ends, whatever ends it.
package driverlock
