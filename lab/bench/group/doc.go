// Package group compares a group of GPUs with one of them: independent jobs, convolutions,
// matrix products, and the start of programs.
package group
