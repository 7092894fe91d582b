// Package report makes one page of what a start did: a trace, and what the cache
// directory knows, as figures, as JSON and as a self-contained HTML file.
package report
