/* The header as its users include it: twice, once with the implementation. */
#define SHADERCACHE_IMPLEMENTATION
#include "shadercache.h"

#undef SHADERCACHE_IMPLEMENTATION
#include "shadercache.h"

int main(void) {
    shc_client *client;
    int code = shc_open(&client, "/nonexistent");
    shc_close(client);
    return code == SHC_NO_SERVER ? 0 : 1;
}
