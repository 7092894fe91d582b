// Package top shows what happens in a cache directory: which processes use it, what their
// starts found, and programs as they are compiled.
package top
