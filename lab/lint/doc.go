// Package lint finds mistakes in GLSL compute shaders that drivers compile without a
// warning and that hang a GPU, end a kernel early or leave all but one lane idle.
//
//	rule                   what it finds
//	divergent-barrier      barrier() under a condition that differs between the
//	                       invocations of a group
//	return-before-barrier  a return that only some invocations execute, and a
//	                       barrier() that the others execute
//	divergent-loop         barrier() in a loop that some invocations leave, or
//	                       iterate, before the others
//	shared-race            a shared variable is written while other invocations may
//	                       still read it
//	single-lane-loop       a loop that one lane runs while the others wait
//	unbounded-loop         a loop that no counter ends
//	marker                 a marker without a reason, or an unknown one
//	unreadable             text that could not be parsed, and is not checked
//
// # Divergent and uniform values
//
// A divergent value may differ between the invocations of a group; a uniform one
// does not. Values are traced from their origin, through variables and calls.
//
//	divergent                          uniform
//	gl_LocalInvocationID and -Index    gl_WorkGroupID, gl_NumWorkGroups
//	gl_GlobalInvocationID              uniforms, constants
//	gl_Subgroup ids and masks          a buffer that is not written, at a uniform
//	                                   index
//	a buffer that is written           a shared variable at a uniform index, when a
//	                                   barrier() has passed since it was written
//	the result of an atomic            all values, in groups of one invocation
//	a variable set under a divergent
//	condition
//
// The analysis is approximate: it assumes that every branch of an #if is possible,
// walks through a loop twice, and assumes that a function without a body in the text
// returns a uniform result for uniform arguments.
//
// # Markers
//
// A comment on the line of an intended finding, or on the line above, excuses it and
// gives the reason:
//
//	// lint:leader REASON   one lane is meant to run this loop
//	// lint:budget REASON   this loop ends, for the reason given
//
// A marker without a reason is a finding itself. A barrier that part of a group does
// not reach cannot be excused.
package lint
