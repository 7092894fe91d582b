// Package lint finds mistakes in GLSL compute text that drivers compile without
// a word and that hang a GPU, stop a kernel half way or waste all but one of its
// lanes.
//
//	rule                   what it finds
//	divergent-barrier      barrier() under a condition that differs between the
//	                       invocations of a group
//	return-before-barrier  a return that only some invocations take, and a
//	                       barrier() that the others reach
//	divergent-loop         barrier() in a loop that some invocations leave, or go
//	                       round, before the others
//	shared-race            a shared variable that decides for the whole group is
//	                       written while others may still read it
//	single-lane-loop       a loop that one lane runs while the others wait
//	unbounded-loop         a loop that no counter ends
//	marker                 a marker without a reason, or an unknown one
//	unreadable             text that could not be followed, so nothing is known
//
// # What counts as different
//
// A value is followed from where it comes from, through variables and calls.
//
//	differs                            is the same for a group
//	gl_LocalInvocationID and -Index    gl_WorkGroupID, gl_NumWorkGroups
//	gl_GlobalInvocationID              uniforms, constants
//	gl_Subgroup ids and masks          a buffer that nothing writes, at an index
//	                                   that is the same
//	a buffer that is written           a shared variable at an index that is the
//	                                   same, when a barrier() has passed since it
//	                                   was written
//	what an atomic returns             everything, in groups of one invocation
//	a variable set under a condition
//	that differs
//
// A lint of text is a guess: it takes every branch of an #if for possible, looks
// at a loop twice, and believes that a function whose body it does not see
// returns the same to all if it is given the same.
//
// # Markers
//
// Where a finding is meant to be, a comment on its line or on the line above
// says so and why:
//
//	// lint:leader REASON   one lane is meant to run this loop
//	// lint:budget REASON   this loop ends, for the reason given
//
// The reason is for the reader; without it the marker is a finding itself.
// Nothing excuses a barrier that part of a group does not reach.
package lint
