// Package crashlog records on disk which programs a GL driver is working on. When a
// driver ends its process, the next process finds the record and the programs in it.
package crashlog
