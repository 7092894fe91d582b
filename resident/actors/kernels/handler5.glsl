// handler5.glsl: a kind of actor, included where there are more than 5. The caller's
// text replaces this file.
