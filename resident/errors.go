package resident

import "errors"

// Errors of a session. Those of a device, shader.ErrContextLost,
// shader.ErrClosed and shader.ErrOutOfMemory, pass through.
var (
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("resident: session is closed")
	// ErrRunning is returned by Run, Start and Restore while the session runs.
	ErrRunning = errors.New("resident: session is running: wait for it or stop it first")
	// ErrInboxFull is returned by Send while the kernel has not taken so many
	// messages as the inbox holds.
	ErrInboxFull = errors.New("resident: inbox is full: the kernel takes messages only while it runs")
	// ErrStuck is returned when a tick did not end in time, or ended without
	// having done a step. The kernel may loop for ever.
	ErrStuck = errors.New("resident: the kernel does not get on")
)

// Errors of checkpoints.
var (
	// ErrDamaged is returned, wrapped with what is wrong, for bytes that
	// Checkpoint.WriteTo did not write.
	ErrDamaged = errors.New("resident: checkpoint is damaged")
	// ErrForeign is returned, wrapped with what differs, by Restore for the
	// checkpoint of another kernel.
	ErrForeign = errors.New("resident: checkpoint is of another kernel")
	// ErrNoCheckpoint is returned by CheckpointFile.Load where neither copy is
	// whole.
	ErrNoCheckpoint = errors.New("resident: there is no checkpoint")
)
