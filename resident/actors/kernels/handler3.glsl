// handler3.glsl: a kind of actor, included where there are more than 3. The caller's
// text replaces this file.
