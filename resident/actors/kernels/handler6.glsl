// handler6.glsl: a kind of actor, included where there are more than 6. The caller's
// text replaces this file.
