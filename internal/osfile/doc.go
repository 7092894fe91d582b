// Package osfile holds what operating systems do in different ways with files.
package osfile
