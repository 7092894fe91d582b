// handler0.glsl: the first kind of actor. The caller's text replaces this file, which does
// nothing.

void ON_MESSAGE(Message m) {}

void ON_TICK() {}
