// handler2.glsl: a kind of actor, included where there are more than 2. The caller's
// text replaces this file.
