// handler.glsl: what an actor does. This one is replaced by the user's, up to
// eight of them; it does nothing.

void ON_MESSAGE(Message m) {}

void ON_TICK() {}
