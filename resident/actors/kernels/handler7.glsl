// handler7.glsl: a kind of actor, included where there are more than 7. The caller's
// text replaces this file.
