// item.glsl: what is done with an item. This one is replaced by the user's; it
// finishes every item at once.

bool queueRun(uint level, uint item[QUEUE_WORDS]) { return true; }
