// item.glsl: processes an item. The caller's text replaces this file, which finishes
// every item at once.

bool queueRun(uint level, uint item[QUEUE_WORDS]) { return true; }
