package resident

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/resident/internal/loops"
	"github.com/shadercache/shadercache/shader"
)

// Errors of a session. Those of a device, shader.ErrContextLost,
// shader.ErrClosed and shader.ErrOutOfMemory, pass through.
var (
	// ErrRunning is returned by Run, Start and Restore while the session runs.
	ErrRunning = errors.New("resident: session is running: wait for it or stop it first")
	// ErrInboxFull is returned by Send while the inbox holds as many messages as fit.
	ErrInboxFull = errors.New("resident: inbox is full: the kernel takes messages only while it runs")
	// ErrStuck is returned when a tick did not end in time, or ticks ended without a
	// step. The kernel may have an endless loop.
	ErrStuck = errors.New("resident: the kernel makes no progress")
	// ErrLoopLimit is returned, wrapped, by New for a kernel whose declared loops pass the
	// limit of the driver, and by a session whose kernel passed it: the driver ended a
	// loop early, so the state is wrong. Kernel.Loops declares the loops. Queues and worlds
	// of actors return it for their items and handlers, which declare them likewise.
	ErrLoopLimit = loops.ErrTooLong
	// ErrBarrierStuck is returned, wrapped, by a session in which a group waited at a
	// barrier within a dispatch that not all groups reached in time: it went on, so the
	// state is wrong.
	ErrBarrierStuck = errors.New("resident: not all groups reached a barrier within a dispatch")
)

// Errors of checkpoints.
var (
	// ErrDamaged is returned, wrapped with the reason, for bytes that
	// Checkpoint.WriteTo did not write.
	ErrDamaged = errors.New("resident: checkpoint is damaged")
	// ErrOtherKernel is returned, wrapped with the difference, by Restore for the
	// checkpoint of another kernel.
	ErrOtherKernel = errors.New("resident: checkpoint is of another kernel")
	// ErrNoCheckpoint is returned by CheckpointFile.Load when neither copy is valid.
	ErrNoCheckpoint = errors.New("resident: there is no checkpoint")
)

var errClosed = fmt.Errorf("resident: %w", shader.ErrClosed)
