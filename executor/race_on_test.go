//go:build race

package executor

const raceDetector = true
