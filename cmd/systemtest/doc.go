// Package systemtest has the tests of the whole: the front door with real drivers, servers
// and processes, the rules of imports, and that documentation is true.
package systemtest
