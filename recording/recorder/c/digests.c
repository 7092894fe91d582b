// The digests of the programs that this process has linked: a hash table that only grows.
#include "record.h"

#include <stdlib.h>
#include <string.h>

// What a process links beyond this many programs is stored and logged each time, and its
// uses are not.
enum { max_digests = 1 << 18 };

struct known {
  uint8_t digest[32];
  uint8_t flags; // 0: free
};

static struct known *table;
static size_t capacity, count;

// place returns where a digest is, or where it would be.
static struct known *place(struct known *in, size_t size, const uint8_t digest[32]) {
  size_t i;
  memcpy(&i, digest, sizeof i);
  for (i &= size - 1; in[i].flags && memcmp(in[i].digest, digest, 32); i = (i + 1) & (size - 1))
    ;
  return &in[i];
}

static bool grow(void) {
  size_t size = capacity ? 2 * capacity : 64;
  struct known *larger = size > 2 * max_digests ? NULL : calloc(size, sizeof *larger);
  if (!larger)
    return false;
  for (size_t i = 0; i < capacity; i++)
    if (table[i].flags)
      *place(larger, size, table[i].digest) = table[i];
  free(table);
  table = larger;
  capacity = size;
  return true;
}

bool mark(const uint8_t digest[32], uint8_t flag) {
  if (2 * (count + 1) > capacity && !grow())
    return flag != USED;
  struct known *known = place(table, capacity, digest);
  if (known->flags & flag)
    return false;
  if (!known->flags) {
    memcpy(known->digest, digest, 32);
    count++;
  }
  known->flags |= flag | KNOWN;
  return true;
}

bool marked(const uint8_t digest[32], uint8_t flag) {
  return capacity && place(table, capacity, digest)->flags & flag;
}

void unmark_all(uint8_t flag) {
  for (size_t i = 0; i < capacity; i++)
    table[i].flags &= (uint8_t)~flag;
}
