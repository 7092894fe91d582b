// handler1.glsl: a kind of actor, included where there are more than 1. The caller's
// text replaces this file.
