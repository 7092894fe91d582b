// handler4.glsl: a kind of actor, included where there are more than 4. The caller's
// text replaces this file.
