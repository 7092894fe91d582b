// handler0.glsl: what the first kind of actor does. This one is replaced by the
// user's; it does nothing.

void ON_MESSAGE(Message m) {}

void ON_TICK() {}
