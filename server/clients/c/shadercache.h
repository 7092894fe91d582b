/*
 * shadercache.h - a client of `shadercache serve` in one file, for Linux.
 *
 * The server keeps an OpenGL context, compiled programs, buffers and weights. A client
 * connects, runs GLSL compute programs and exits: it needs no GL and no other library.
 * C99 or C++17 (set the fields of its structs one by one, as example.cpp does: C++20 takes
 * designators in the order of the fields only). Every function is documented at its declaration; the protocol is
 * docs/protocol.md, and docs/clients.md has an example and a table of errors.
 *
 * Install: copy this file. In exactly one source file, before every other include:
 *
 *     #define SHADERCACHE_IMPLEMENTATION
 *     #include "shadercache.h"
 *
 * Results: a function returns SHC_OK or another shc_code, and then changes nothing but
 * the message that shc_message returns. An output of a failed job is undefined.
 *
 * Threads: a client, and what was made with it, is used by one thread at a time. Clients
 * do not affect each other and there is no global state: open one for each thread.
 *
 * fork: a client belongs to the process that opened it. In a child every call returns
 * SHC_FORKED. The child may call shc_close, which does not disturb the parent, and open
 * a client of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHADERCACHE_H
#define SHADERCACHE_H

#if defined(SHADERCACHE_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* memfd_create, seals */
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the protocol that this file speaks. */
#define SHC_PROTOCOL_VERSION 5

/* A frame's limit: more bytes than about this, of all inline inputs or outputs of one
 * request together, must be in an shc_memory. */
#define SHC_MAX_BODY (1u << 20)

typedef enum shc_code {
    SHC_OK = 0,

    /* Errors that the server reports. */
    SHC_MALFORMED = 1, /* it does not understand this client; the session ends */
    SHC_VERSION,       /* no common version of the protocol; the session ends */
    SHC_QUOTA,         /* a limit of the session or the server is reached */
    SHC_DEADLINE,      /* the deadline passed */
    SHC_CANCELLED,     /* shc_cancel ended it */
    SHC_NOT_FOUND,     /* no program, buffer or plan of this name */
    SHC_EXISTS,        /* the named object is another one */
    SHC_INVALID,       /* the request does not fit the program, its objects or the device */
    SHC_COMPILE,       /* the program does not compile; the message is the driver's log */
    SHC_OUT_OF_MEMORY, /* of the device or the server */
    SHC_CONFLICT,      /* the buffer has another version than expected */
    SHC_LOST,          /* the context was lost or a kernel did not end; the session ends */
    SHC_DRAINING,      /* the server shuts down and accepts nothing new */
    SHC_INTERNAL,      /* a fault of the server or the driver */
    SHC_OTHER_DEVICE,  /* the named buffer is on another device of the server: see shc_place */

    /* Errors of the client. */
    SHC_NO_SERVER = 100, /* no server listens there, or its directory is not safe */
    SHC_CLOSED,          /* the connection ended without an error; the session ends */
    SHC_PROTOCOL,        /* the answer is not one of the protocol; the session ends */
    SHC_TIMEOUT,         /* no answer long after the deadline; the session ends */
    SHC_FORKED,          /* another process opened this client */
    SHC_USAGE,           /* arguments that no server would accept */
    SHC_SYSTEM           /* a system call failed, or this process has no memory left */
} shc_code;

/* Returns the name of a code, such as "not found". It is static. */
const char *shc_code_name(int code);

/* ---- Session ---- */

typedef struct shc_client shc_client;

/* What the server is. The texts belong to the client. */
typedef struct shc_info {
    uint64_t session;    /* number of this session */
    uint64_t generation; /* of the worker process: 1 more after each restart */
    char server[256];    /* version of the server */
    char device[256];    /* as OpenGL names it */
    char label[256];     /* of the driver, such as NVIDIA_H200 */
    char ended[256];     /* why the worker before this one ended; "" where none did */
    char uuid[256];      /* of the device; "" where the driver has none */
    uint32_t number;     /* of the session's device in the server, from 0 */
    uint32_t devices;    /* that the server has */
    int zero_copy;       /* 1: jobs use shared memory in place, and write it until they end */
    unsigned char fingerprint[32];
    uint32_t jobs;        /* limit: unanswered jobs, copies, weights and runs */
    uint32_t objects;     /* limit: objects of each kind */
    uint64_t memory;      /* limit: bytes of shared memory */
    uint64_t buffers;     /* limit: bytes of unnamed buffers */
    uint64_t named;       /* limit: bytes of named buffers of all sessions */
    uint64_t deadline_ns; /* of a request that gives 0 */
    uint64_t longest_ns;  /* a longer deadline is shortened to this */
} shc_info;

/* Connects to the server at the socket path. NULL or "" is $SHADERCACHE_SERVER, else the
 * default place. It starts no server. Sets *client also where it fails, for shc_message to have the reason; close it
 * in either case. Only without memory *client is NULL, which all functions accept. */
int shc_open(shc_client **client, const char *path);

/* Where a session is placed by a server with several devices. All NULL: on the one with the
 * fewest sessions. */
typedef struct shc_place {
    const char *device;      /* number in the server, from 0, or UUID; NULL: any */
    const char *near_buffer; /* without device: the one that has this named buffer, if any */
} shc_place;

/* shc_open with a place, which may be NULL. SHC_NOT_FOUND where no such device serves. */
int shc_open_at(shc_client **client, const char *path, const shc_place *place);

/* Ends the session and frees the client. The server frees what the session had, except
 * named buffers and plans. Release each shc_memory before: close does not unmap them. */
void shc_close(shc_client *client);

/* Return the message and the hint of the last call, "" where it succeeded, never NULL. They
 * are valid until the next call with this client. */
const char *shc_message(const shc_client *client);
const char *shc_hint(const shc_client *client);

/* Returns what the server is. NULL where shc_open failed. */
const shc_info *shc_server(const shc_client *client);

/* Sets how long requests without a deadline are waited for. Where this is not called: 60 s,
 * and 11 minutes for those that make an object, which may wait for a compile. Jobs, copies, runs
 * and weights have a deadline, by default the server's 30 s, and are waited for 5 s longer than
 * that. Beyond it the server counts as dead: SHC_TIMEOUT, and the session ends. */
void shc_set_timeout(shc_client *client, uint64_t nanoseconds);

/* Returns the server's counters as JSON in *json, to be freed by free. */
int shc_status(shc_client *client, char **json);

/* ---- Programs ---- */

typedef struct shc_define {
    const char *name, *value;
} shc_define;

typedef struct shc_source {
    const char *name; /* a label for people */
    const char *text; /* GLSL of a compute shader; NULL: the newest program of this name */
    const shc_define *defines;
    size_t define_count;
    int final; /* the driver gets the text byte for byte, without #version in front */
} shc_source;

typedef struct shc_program {
    uint32_t id;
    int origin; /* 1 compiled, 2 from disk, 3 from memory, 4 resident */
    uint32_t work_group[3];
    unsigned char key[32];
} shc_program;

/* Loads a program: from the server's cache, else it is compiled. */
int shc_load(shc_client *client, const shc_source *source, shc_program *program);
int shc_program_release(shc_client *client, const shc_program *program);

/* ---- Memory and buffers ---- */

/* Memory that the server reads and writes without a copy through the socket. */
typedef struct shc_memory {
    uint32_t id;
    size_t size; /* bytes */
    void *data;
} shc_memory;

/* Makes shared memory of size bytes, all zero. */
int shc_memory_make(shc_client *client, size_t size, shc_memory *memory);

/* Unmaps the memory, also where the session has ended. No job may use it. */
int shc_memory_release(shc_client *client, shc_memory *memory);

/* A buffer on the device. */
typedef struct shc_buffer {
    uint32_t id;
    int created;      /* 1: it is new, and all zero */
    uint64_t size;    /* bytes */
    uint64_t version; /* when it was opened, and after each write by this client */
} shc_buffer;

/* Flags of shc_buffer_open and shc_plan_open. */
#define SHC_CREATE 1 /* make it where it does not exist */
#define SHC_FRESH 2  /* with SHC_CREATE: fail where the name exists */
#define SHC_EXACT 4  /* of a plan: no algorithm that errs by more than a sum of products does */

/* Makes or opens a buffer. Without a name (NULL) it ends with the session, and flags must
 * have SHC_CREATE. A named one outlives it, and other clients open it by its name; size 0
 * opens one of any size. */
int shc_buffer_open(shc_client *client, const char *name, uint64_t size, int flags,
                    shc_buffer *buffer);
int shc_buffer_release(shc_client *client, const shc_buffer *buffer);

/* Remove the name of a buffer or plan. Sessions that have it open keep it. */
int shc_buffer_delete(shc_client *client, const char *name);
int shc_plan_delete(shc_client *client, const char *name);

/* A texture on the device, at first all zero. It ends with the session. */
typedef struct shc_texture {
    uint32_t id;
} shc_texture;

/* Formats of textures, of those that docs/protocol.md numbers. */
enum { SHC_RGBA32F = 1, SHC_R32F = 3, SHC_RGBA8 = 12, SHC_R8 = 14, SHC_R32I = 23, SHC_R32UI = 32 };

enum { SHC_1D = 1, SHC_2D, SHC_3D, SHC_CUBE, SHC_1D_ARRAY, SHC_2D_ARRAY, SHC_CUBE_ARRAY };

typedef struct shc_shape {
    int format;
    uint32_t width;
    uint32_t height, depth; /* 0: 1; depth counts the layers of an array, and the cubes of one */
    uint32_t levels;        /* 0: 1 */
    int kind;               /* 0: SHC_2D */
} shc_shape;

int shc_texture_create(shc_client *client, const shc_shape *shape, shc_texture *texture);
int shc_texture_release(shc_client *client, const shc_texture *texture);

/* A range of bytes, made by the six functions below. */
typedef struct shc_range {
    int place;
    uint32_t id;
    uint64_t offset, size;
    const void *in;
    void *out;
} shc_range;

shc_range shc_none(void);
shc_range shc_in(const void *bytes, size_t size); /* read by the server, sent inline */
shc_range shc_out(void *bytes, size_t size);      /* written: must live until the request is done */
shc_range shc_memory_range(const shc_memory *memory, uint64_t offset, uint64_t size);
shc_range shc_buffer_range(const shc_buffer *buffer, uint64_t offset,
                           uint64_t size); /* 0: the rest */
shc_range shc_texels(const shc_texture *texture); /* of a copy's region; of shc_copy_bytes alone */

typedef struct shc_copy {
    uint64_t deadline_ns; /* 0: the server's default */
    shc_range from, to;   /* one of the two is a buffer, or the texels of a texture */
    uint64_t version;     /* of the buffer `to` afterwards; 0: 1 more than before */
    uint64_t expect;      /* with check: SHC_CONFLICT where `to` has another version */
    int check;
    int32_t region[7]; /* of texels: level, x, y, z, width, height, depth; sizes of 0: the rest */
} shc_copy;

/* Copies to, from or between buffers, as one step. Sets *version (may be NULL) to that of
 * the buffer: of `to` where both are. */
int shc_copy_bytes(shc_client *client, const shc_copy *copy, uint64_t *version);

/* Write and read a part of a buffer inline. They set buffer->version. */
int shc_buffer_write(shc_client *client, shc_buffer *buffer, uint64_t offset, const void *bytes,
                     size_t size);
int shc_buffer_read(shc_client *client, shc_buffer *buffer, uint64_t offset, void *bytes,
                    size_t size);

/* ---- Jobs ---- */

typedef struct shc_binding {
    uint32_t binding;
    shc_range range;
    int read_only; /* of a buffer that the program only reads */
} shc_binding;

enum { SHC_INT = 1, SHC_UINT, SHC_FLOAT, SHC_INTS, SHC_UINTS, SHC_FLOATS, SHC_DOUBLES };

typedef struct shc_uniform {
    const char *name;
    int kind; /* SHC_INT, SHC_UINT, SHC_FLOAT, or one of several components */
    union {
        int32_t i;
        uint32_t u;
        float f;
        struct {
            const void *components; /* of a vector, a matrix column by column, or an array */
            size_t size;            /* bytes, 8 at least */
        } many;
    } value;
} shc_uniform;

enum { SHC_READ_WRITE, SHC_READ_ONLY, SHC_WRITE_ONLY };

/* A texture for the image uniform of a name. */
typedef struct shc_image {
    const char *name;
    const shc_texture *texture;
    int32_t level;
    int32_t layer; /* of an image2D or image1D that is one layer of the texture */
    int access;    /* SHC_READ_WRITE and so on */
    int format;    /* as which the bits of texels are read; 0: the texture's */
} shc_image;

enum { SHC_LEVEL_0, SHC_MIP_NEAREST, SHC_MIP_LINEAR };
enum { SHC_CLAMP, SHC_REPEAT, SHC_MIRROR, SHC_BORDER };

/* A texture for the sampler uniform of a name. Zeros are the nearest texel of level 0, clamped
 * to the edge. */
typedef struct shc_sampler {
    const char *name;
    const shc_texture *texture;
    int min_linear, mag_linear; /* 1: linear, else nearest */
    int mip;                    /* SHC_LEVEL_0 and so on */
    int wrap[3];                /* along s, t and r: SHC_CLAMP and so on */
    int compare;                /* of a shadow sampler: 1 never to 8 always; else 0 */
} shc_sampler;

/* Atomic counters at a binding, for every dispatch of a job. */
typedef struct shc_counter {
    uint32_t binding;
    uint32_t *words;  /* start as they are, and have the result once the request is done */
    size_t count;     /* of words */
    shc_range buffer; /* where words is NULL: shc_buffer_range of size 0 */
} shc_counter;

typedef struct shc_dispatch {
    const shc_program *program;
    uint32_t groups[3];
    const void *params; /* content of the uniform block at params_binding; NULL: none */
    size_t params_size;
    uint32_t params_binding;
    const shc_uniform *uniforms;
    size_t uniform_count;
    const shc_binding *buffers; /* shc_buffer_range only */
    size_t buffer_count;
    const shc_image *images;
    size_t image_count;
    const shc_sampler *samplers;
    size_t sampler_count;
    const shc_binding *blocks; /* content of other uniform blocks: shc_in or shc_buffer_range */
    size_t block_count;
    uint32_t group_size[3];     /* of a program with local_size_variable; else 0 */
    const shc_buffer *indirect; /* NULL, or where the three groups are, in place of groups */
    uint64_t indirect_offset;   /* bytes, a multiple of 4 */
} shc_dispatch;

/* Every storage block, uniform block, uniform, image, sampler and atomic counter buffer of the
 * programs must be given. */
typedef struct shc_job {
    uint64_t deadline_ns;      /* from its receipt; 0: the server's default */
    const shc_binding *inputs; /* shc_in or shc_memory_range */
    size_t input_count;
    const shc_binding *outputs; /* shc_out or shc_memory_range */
    size_t output_count;
    const shc_dispatch *dispatches; /* each after the writes of the one before */
    size_t dispatch_count;
    const shc_counter *counters;
    size_t counter_count;
} shc_job;

/* Runs a job and waits for it. */
int shc_run(shc_client *client, const shc_job *job);

/* Sends a job. Every request that was sent must be waited for once. */
int shc_submit(shc_client *client, const shc_job *job, uint64_t *request);
int shc_wait(shc_client *client, uint64_t request);

/* Asks the server to end a request: shc_wait then returns SHC_CANCELLED, or its result. */
int shc_cancel(shc_client *client, uint64_t request);

/* ---- Plans: convolutions, matrix products, and networks of them ---- */

typedef struct shc_plan {
    uint32_t id;
    int created, has_weights;
    uint64_t version;                      /* of the weights */
    uint64_t input, weights, bias, output; /* lengths in floats */
} shc_plan;

/* Makes or opens a plan. The spec has one layer a line (docs/protocol.md, "Plans"):
 *
 *     conv2d:1x3x224x224-64,7x7,s2,p3,bias,relu     NxCxHxW-K,RxS
 *     gemm:1024x1024x1024                           MxNxK
 *
 * All tensors are float32. NULL opens a named plan as it is. */
int shc_plan_open(shc_client *client, const char *name, const char *spec, int flags,
                  shc_plan *plan);
int shc_plan_release(shc_client *client, const shc_plan *plan);

/* Sets weights and bias of all layers, one layer after the other; shc_none where there is
 * no bias. The server reads nothing where the plan has this version already, which is not
 * 0: compare plan->version before you read a file of weights. */
int shc_plan_weights(shc_client *client, shc_plan *plan, uint64_t version, shc_range weights,
                     shc_range bias);

/* Runs a plan: input shc_in, memory or buffer; output shc_out, memory or buffer. */
int shc_plan_run(shc_client *client, const shc_plan *plan, uint64_t deadline_ns, shc_range input,
                 shc_range output);

/* Sends a run of a plan, to be waited for by shc_wait. */
int shc_plan_submit(shc_client *client, const shc_plan *plan, uint64_t deadline_ns, shc_range input,
                    shc_range output, uint64_t *request);

#ifdef __cplusplus
}
#endif

#endif /* SHADERCACHE_H */

#ifdef SHADERCACHE_IMPLEMENTATION
#ifndef SHADERCACHE_IMPLEMENTED
#define SHADERCACHE_IMPLEMENTED

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_ALLOW_SEALING
#error "include shadercache.h before every other file, or define _GNU_SOURCE"
#endif

/* ---- Constants of the protocol ---- */

#define SHC__MAGIC 0x43444853u
#define SHC__HEADER 16u
#define SHC__MAX_NAME 255u
#define SHC__MAX_DEFINE 4096u
#define SHC__REPLY 0x8000
#define SHC__ERROR 0x8000
#define SHC__WAKE 0x800e
#define SHC__SECOND 1000000000u
#define SHC__TOO_LARGE "more than 1 MiB inline: data of that size goes through shc_memory_make"
#define SHC__GRACE (5u * (uint64_t)SHC__SECOND) /* beyond a deadline */

enum {
    SHC__HELLO = 1,
    SHC__PROGRAM,
    SHC__MEMORY,
    SHC__BUFFER,
    SHC__COPY,
    SHC__JOB,
    SHC__PLAN,
    SHC__WEIGHTS,
    SHC__RUN,
    SHC__RELEASE,
    SHC__DELETE,
    SHC__CANCEL,
    SHC__STATUS,
    SHC__TEXTURE = 15
};
enum {
    SHC__KIND_PROGRAM = 1,
    SHC__KIND_MEMORY,
    SHC__KIND_BUFFER,
    SHC__KIND_PLAN,
    SHC__KIND_TEXTURE
};
enum { SHC__NONE, SHC__INLINE, SHC__SHARED, SHC__DEVICE, SHC__TEXELS };
enum { SHC__FORM_SOURCE, SHC__FORM_FINAL, SHC__FORM_NAME };

/* ---- Types ---- */

/* Where the reply of a request puts inline bytes. */
typedef struct shc__target {
    void *bytes;
    size_t size;
} shc__target;

/* A request of shc_submit. */
typedef struct shc__pending {
    uint64_t request;
    uint64_t until; /* monotonic time at which the server counts as dead */
    int type;
    int done;
    int code;
    char *message, *hint; /* of a failed one */
    shc__target *targets;
    size_t target_count;
} shc__pending;

/* A frame that was received. Its body lies in client->in until the next one is. */
typedef struct shc__frame {
    int type;
    uint64_t request;
    const unsigned char *body;
    size_t size;
} shc__frame;

struct shc_client {
    int fd;
    int ended; /* the code that ended the session, or SHC_OK */
    int open;
    pid_t pid;
    uint64_t timeout, compile_timeout;
    uint64_t last_request;
    uint32_t last_id;
    int code;            /* of the last error */
    char *text, *advice; /* message and hint of the last error; NULL: fixed is it */
    char fixed[512];
    shc_info info;

    unsigned char *out; /* the frame that is being written */
    size_t out_size, out_space;
    int out_no_memory;
    const char *out_fault; /* why it cannot be sent, or NULL */

    unsigned char *in; /* bytes received: taken ones, then those to come */
    size_t in_taken, in_size, in_space;
    uint64_t alive;    /* monotonic time until which the server said that it goes on */
    uint64_t received; /* when its last bytes came */
    uint64_t span;     /* the longest that a request was given, in nanoseconds */

    shc__pending *pending;
    size_t pending_count, pending_space;
};

/* ---- Errors ---- */

const char *shc_code_name(int code) {
    static const char *const server[] = {"ok",       "malformed", "version",       "quota",
                                         "deadline", "cancelled", "not found",     "exists",
                                         "invalid",  "compile",   "out of memory", "conflict",
                                         "lost",     "draining",  "internal",      "other device"};
    static const char *const own[] = {"no server", "closed", "protocol", "timeout",
                                      "forked",    "usage",  "system"};
    if (code >= 0 && code <= SHC_OTHER_DEVICE) {
        return server[code];
    }
    if (code >= SHC_NO_SERVER && code <= SHC_SYSTEM) {
        return own[code - SHC_NO_SERVER];
    }
    return "unknown";
}

/* Returns a copy of n bytes as a string, or NULL without memory. */
static char *shc__string(const void *bytes, size_t n) {
    char *s = (char *)malloc(n + 1);
    if (s != NULL) {
        if (n > 0) {
            memcpy(s, bytes, n);
        }
        s[n] = 0;
    }
    return s;
}

/* Sets the last error to texts that the client then owns. */
static int shc__set_error(shc_client *c, int code, char *message, char *hint) {
    free(c->text);
    free(c->advice);
    c->code = code;
    c->text = message;
    c->advice = hint;
    snprintf(c->fixed, sizeof c->fixed, "%s", code == SHC_OK ? "" : shc_code_name(code));
    return code;
}

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static int
shc__fail(shc_client *c, int code, const char *hint, const char *format, ...) {
    char *advice = hint == NULL ? NULL : shc__string(hint, strlen(hint));
    va_list args;
    shc__set_error(c, code, NULL, advice);
    va_start(args, format);
    vsnprintf(c->fixed, sizeof c->fixed, format, args);
    va_end(args);
    return code;
}

const char *shc_message(const shc_client *c) {
    if (c == NULL) {
        return "out of memory";
    }
    return c->text != NULL ? c->text : c->fixed;
}

const char *shc_hint(const shc_client *c) {
    return c != NULL && c->advice != NULL ? c->advice : "";
}

static void shc__hang_up(shc_client *c) {
    if (c->fd >= 0) {
        if (c->pid == getpid()) { /* a process that was forked has the socket too */
            shutdown(c->fd, SHUT_RDWR);
        }
        close(c->fd);
        c->fd = -1;
    }
}

/* Ends the session for the error that was just set. */
static int shc__end(shc_client *c, int code) {
    c->ended = code;
    shc__hang_up(c);
    return code;
}

static int shc__bad_answer(shc_client *c, const char *what) {
    shc__fail(c, SHC_PROTOCOL, "use a client and a server of the same release",
              "the server sent %s", what);
    return shc__end(c, SHC_PROTOCOL);
}

static int shc__system(shc_client *c, const char *call) {
    return shc__fail(c, SHC_SYSTEM, NULL, "%s: %s", call, strerror(errno));
}

/* Returns SHC_OK, without the message of the call before, where the client can send. Every
 * call begins with it. */
static int shc__ready(shc_client *c) {
    if (c == NULL) {
        return SHC_USAGE;
    }
    if (c->pid != getpid()) {
        return shc__fail(c, SHC_FORKED, "open a client after fork",
                         "this client belongs to the process that opened it");
    }
    if (c->ended != SHC_OK) {
        return c->ended; /* the message is that of the end */
    }
    if (!c->open) {
        return shc__fail(c, SHC_USAGE, NULL, "the client is not connected");
    }
    return shc__set_error(c, SHC_OK, NULL, NULL);
}

/* ---- Writing a frame ---- */

/* Sets why the frame cannot be sent. The first reason stays. */
static void shc__fault(shc_client *c, const char *reason) {
    if (c->out_fault == NULL) {
        c->out_fault = reason;
    }
}

static void shc__put(shc_client *c, const void *bytes, size_t n) {
    if (c->out_fault != NULL || n == 0) {
        return;
    }
    if (n > SHC__HEADER + SHC_MAX_BODY - c->out_size) {
        shc__fault(c, SHC__TOO_LARGE);
        return;
    }
    if (c->out_size + n > c->out_space) {
        size_t space = 2 * (c->out_size + n);
        unsigned char *grown = (unsigned char *)realloc(c->out, space);
        if (grown == NULL) {
            c->out_no_memory = 1;
            shc__fault(c, "out of memory");
            return;
        }
        c->out = grown;
        c->out_space = space;
    }
    memcpy(c->out + c->out_size, bytes, n);
    c->out_size += n;
}

/* Appends the n low bytes of v. */
static void shc__number(shc_client *c, uint64_t v, size_t n) {
    unsigned char b[8];
    size_t i;
    for (i = 0; i < n; i++) {
        b[i] = (unsigned char)((v >> (8 * i)) & 0xff);
    }
    shc__put(c, b, n);
}

static void shc__u8(shc_client *c, int v) { shc__number(c, (uint64_t)(unsigned)v, 1); }
static void shc__u16(shc_client *c, size_t v) { shc__number(c, v, 2); }
static void shc__u32(shc_client *c, uint32_t v) { shc__number(c, v, 4); }
static void shc__u64(shc_client *c, uint64_t v) { shc__number(c, v, 8); }

static int shc__is_utf8(const char *s) {
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s;
    for (; *p != 0; p++) {
        int i, more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
        uint32_t rune = more == 0 ? *p : *p & (0x3fu >> more);
        if (*p >= 0xf8 || (*p >= 0x80 && *p < 0xc0)) {
            return 0;
        }
        for (i = 0; i < more; i++) {
            if ((*++p & 0xc0) != 0x80) {
                return 0;
            }
            rune = rune << 6 | (*p & 0x3fu);
        }
        if (rune < least[more] || rune > 0x10ffff || rune >> 11 == 0x1b) { /* surrogates */
            return 0;
        }
    }
    return 1;
}

/* Appends a text of at most max bytes; NULL is the empty one. */
static void shc__text(shc_client *c, const char *s, size_t max) {
    size_t n = s == NULL ? 0 : strlen(s);
    if (n > max) {
        shc__fault(c, max == SHC__MAX_NAME ? "a name of more than 255 bytes"
                                           : "a define of more than 4096 bytes");
        return;
    }
    if (n > 0 && !shc__is_utf8(s)) {
        shc__fault(c, "a name or define that is not UTF-8");
    }
    shc__u16(c, n);
    shc__put(c, s, n);
}

static void shc__data(shc_client *c, const void *bytes, size_t n) {
    if (n > SHC_MAX_BODY) {
        shc__fault(c, SHC__TOO_LARGE);
        return;
    }
    shc__u32(c, (uint32_t)n);
    shc__put(c, bytes, n);
}

static void shc__count(shc_client *c, size_t n) {
    if (n > 65535) {
        shc__fault(c, "a list of more than 65535 elements");
        return;
    }
    shc__u16(c, n);
}

/* Appends an operand. One that the server reads must not be shc_out, and the reverse. */
static void shc__operand(shc_client *c, const shc_range *r, int read) {
    if (r->place == SHC__INLINE && (read ? r->out != NULL : r->in != NULL)) {
        shc__fault(c, read ? "shc_out where the server reads" : "shc_in where the server writes");
        return;
    }
    shc__u8(c, r->place);
    if (r->place == SHC__INLINE && read) {
        shc__data(c, r->in, (size_t)r->size);
    } else if (r->place == SHC__INLINE) {
        if (r->size > SHC_MAX_BODY) {
            shc__fault(c, SHC__TOO_LARGE);
            return;
        }
        shc__u32(c, (uint32_t)r->size);
    } else if (r->place == SHC__TEXELS) {
        shc__u32(c, r->id);
    } else if (r->place != SHC__NONE) {
        shc__u32(c, r->id);
        shc__u64(c, r->offset);
        shc__u64(c, r->size);
    }
}

static void shc__bindings(shc_client *c, const shc_binding *list, size_t n, int read) {
    size_t i;
    shc__count(c, n);
    for (i = 0; i < n; i++) {
        shc__u32(c, list[i].binding);
        shc__u8(c, list[i].read_only != 0);
        shc__operand(c, &list[i].range, read);
    }
}

/* Starts a frame; its size is set by shc__send. */
static void shc__head(shc_client *c, int type) {
    c->out_size = 0;
    c->out_no_memory = 0;
    c->out_fault = NULL;
    shc__u32(c, 0);
    shc__u16(c, (size_t)type);
    shc__u16(c, 0);
    shc__u64(c, ++c->last_request);
}

/* Starts a frame where the client can send, else returns why it cannot. */
static int shc__begin(shc_client *c, int type) {
    int code = shc__ready(c);
    if (code == SHC_OK) {
        shc__head(c, type);
    }
    return code;
}

/* Starts the frame of a request that makes an object, and sets its id. */
static int shc__begin_object(shc_client *c, int type, uint32_t *id) {
    int code = shc__begin(c, type);
    if (code == SHC_OK) {
        *id = ++c->last_id;
        shc__u32(c, *id);
    }
    return code;
}

/* ---- Reading a body ---- */

typedef struct shc__reader {
    const unsigned char *next;
    size_t left;
    int bad;
} shc__reader;

static const unsigned char *shc__take(shc__reader *r, size_t n) {
    const unsigned char *p = r->next;
    if (r->bad || n > r->left) {
        r->bad = 1;
        return NULL;
    }
    r->next += n;
    r->left -= n;
    return p;
}

static uint64_t shc__get(shc__reader *r, size_t n) {
    const unsigned char *p = shc__take(r, n);
    uint64_t v = 0;
    if (p != NULL) {
        for (; n > 0; n--) {
            v = v << 8 | p[n - 1];
        }
    }
    return v;
}

static uint32_t shc__get32(shc__reader *r) { return (uint32_t)shc__get(r, 4); }

static int shc__get_flag(shc__reader *r) {
    uint64_t v = shc__get(r, 1);
    if (v > 1) {
        r->bad = 1;
    }
    return v == 1;
}

/* Reads bytes that a length of width bytes precedes. */
static const unsigned char *shc__get_data(shc__reader *r, size_t width, size_t *n) {
    *n = (size_t)shc__get(r, width);
    return shc__take(r, *n);
}

/* Reads a text into a field of 256 bytes. A longer one is malformed. */
static void shc__get_text(shc__reader *r, char field[256]) {
    size_t n;
    const unsigned char *p = shc__get_data(r, 2, &n);
    field[0] = 0;
    if (n > 255) {
        r->bad = 1;
    } else if (p != NULL) {
        memcpy(field, p, n);
        field[n] = 0;
    }
}

static shc__reader shc__body(const shc__frame *f) {
    shc__reader r;
    r.next = f->body;
    r.left = f->size;
    r.bad = 0;
    return r;
}

/* Returns SHC_OK for a body that was read to its end, else ends the session. */
static int shc__read_all(shc_client *c, const shc__reader *r) {
    if (r->bad || r->left > 0) {
        return shc__bad_answer(c, "a reply whose fields do not fit its size");
    }
    return SHC_OK;
}

/* ---- Errors that the server reports ---- */

static int shc__ends_session(uint64_t request, int code) {
    return request == 0 || code == SHC_MALFORMED || code == SHC_VERSION || code == SHC_LOST;
}

/* Reads an error frame. *message and *hint are the caller's to free. */
static int shc__read_error(shc_client *c, const shc__frame *f, int *code, char **message,
                           char **hint) {
    shc__reader r = shc__body(f);
    size_t message_size, hint_size;
    const unsigned char *message_bytes, *hint_bytes;
    *message = *hint = NULL;
    *code = (int)shc__get(&r, 2);
    message_bytes = shc__get_data(&r, 4, &message_size);
    hint_bytes = shc__get_data(&r, 4, &hint_size);
    if (*code == SHC_OK) {
        r.bad = 1;
    }
    if (shc__read_all(c, &r) != SHC_OK) {
        return SHC_PROTOCOL;
    }
    *message = shc__string(message_bytes, message_size);
    *hint = shc__string(hint_bytes, hint_size);
    return SHC_OK;
}

/* Makes an error frame the last error, and ends the session where it does. */
static int shc__server_error(shc_client *c, const shc__frame *f) {
    int code;
    char *message, *hint;
    if (shc__read_error(c, f, &code, &message, &hint) != SHC_OK) {
        return SHC_PROTOCOL;
    }
    shc__set_error(c, code, message, hint);
    return shc__ends_session(f->request, code) ? shc__end(c, code) : code;
}

/* ---- Requests that are submitted ---- */

static void shc__forget(shc_client *c, shc__pending *p) {
    free(p->message);
    free(p->hint);
    free(p->targets);
    *p = c->pending[--c->pending_count];
}

static shc__pending *shc__find(shc_client *c, uint64_t request) {
    size_t i;
    for (i = 0; i < c->pending_count; i++) {
        if (c->pending[i].request == request) {
            return &c->pending[i];
        }
    }
    return NULL;
}

/* Copies the inline bytes of a reply to the outputs of its request. */
static int shc__scatter(shc_client *c, shc__reader *r, const shc__target *targets, size_t count) {
    size_t i, n;
    const unsigned char *bytes = shc__get_data(r, 4, &n);
    for (i = 0; i < count && bytes != NULL; i++) {
        if (targets[i].size > n) {
            return shc__bad_answer(c, "fewer bytes than the outputs have");
        }
        if (targets[i].size > 0) {
            memcpy(targets[i].bytes, bytes, targets[i].size);
        }
        bytes += targets[i].size;
        n -= targets[i].size;
    }
    if (bytes != NULL && n > 0) {
        return shc__bad_answer(c, "more bytes than the outputs have");
    }
    return shc__read_all(c, r);
}

/* Stores the answer to a submitted request until shc_wait asks for it. */
static int shc__complete(shc_client *c, const shc__frame *f) {
    shc__pending *p;
    shc__reader r = shc__body(f);
    if (f->request == 0 && f->type == SHC__ERROR) {
        return shc__server_error(c, f);
    }
    p = shc__find(c, f->request);
    if (p == NULL || p->done) {
        return shc__bad_answer(c, "a reply to no request");
    }
    if (f->type == SHC__ERROR) {
        if (shc__read_error(c, f, &p->code, &p->message, &p->hint) != SHC_OK) {
            return SHC_PROTOCOL;
        }
        if (shc__ends_session(f->request, p->code)) {
            return shc__server_error(c, f);
        }
    } else if (f->type != (p->type | SHC__REPLY)) {
        return shc__bad_answer(c, "a reply of another type than its request");
    } else if (shc__scatter(c, &r, p->targets, p->target_count) != SHC_OK) {
        return SHC_PROTOCOL;
    }
    p->done = 1;
    return SHC_OK;
}

/* ---- The socket ---- */

static uint64_t shc__now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SHC__SECOND + (uint64_t)t.tv_nsec;
}

static uint64_t shc__later(uint64_t nanoseconds) {
    uint64_t now = shc__now();
    return nanoseconds > UINT64_MAX - now ? UINT64_MAX : now + nanoseconds;
}

/* Returns when a request with this deadline is given up. */
static uint64_t shc__until(shc_client *c, uint64_t deadline) {
    if (deadline == 0) {
        deadline = c->info.deadline_ns;
    }
    if (deadline > c->info.longest_ns) {
        deadline = c->info.longest_ns;
    }
    deadline = deadline > UINT64_MAX - SHC__GRACE ? UINT64_MAX : deadline + SHC__GRACE;
    c->span = deadline > c->span ? deadline : c->span;
    return shc__later(deadline);
}

static int shc__timed_out(shc_client *c) {
    shc__fail(c, SHC_TIMEOUT, "the server hangs or is stopped: restart it",
              "the server does not answer");
    return shc__end(c, SHC_TIMEOUT);
}

static int shc__closed(shc_client *c) {
    if (!c->open) {
        shc__fail(c, SHC_CLOSED,
                  "connect again: it may have ended just now, and serves only its own user",
                  "the server closed the connection");
    } else {
        shc__fail(c, SHC_CLOSED,
                  "open a new client: shc_server(client)->ended is why the worker ended",
                  "the server closed the connection without an error");
    }
    return shc__end(c, SHC_CLOSED);
}

/* Waits until the socket has one of the events. Returns them, 0 after an error. What has come
 * counts, also where the caller asks for it late, and so does the rest that follows it. */
static int shc__poll(shc_client *c, short events, uint64_t until) {
    uint64_t rest = c->received + (c->timeout < SHC__GRACE ? c->timeout : SHC__GRACE);
    until = until > rest ? until : rest;
    for (;;) {
        struct pollfd p;
        uint64_t now = shc__now(), end = until > c->alive ? until : c->alive;
        uint64_t left = now < end ? (end - now) / 1000000u + 1 : 0;
        int n;
        p.fd = c->fd;
        p.events = events;
        p.revents = 0;
        n = poll(&p, 1, left > INT_MAX ? INT_MAX : (int)left);
        if (n > 0) {
            return p.revents;
        }
        if (n == 0 && left == 0) {
            shc__timed_out(c);
            return 0;
        }
        if (n < 0 && errno != EINTR) {
            shc__system(c, "poll");
            shc__end(c, SHC_SYSTEM);
            return 0;
        }
    }
}

/* Makes room in the input for `size` bytes after those that were taken. */
static int shc__room(shc_client *c, size_t size) {
    unsigned char *grown;
    if (c->in_taken > 0) {
        memmove(c->in, c->in + c->in_taken, c->in_size - c->in_taken);
        c->in_size -= c->in_taken;
        c->in_taken = 0;
    }
    if (size <= c->in_space) {
        return SHC_OK;
    }
    grown = (unsigned char *)realloc(c->in, size);
    if (grown == NULL) {
        shc__system(c, "realloc");
        return shc__end(c, SHC_SYSTEM);
    }
    c->in = grown;
    c->in_space = size;
    return SHC_OK;
}

/* Reads what the socket has, without waiting. */
static int shc__fill(shc_client *c) {
    ssize_t n = recv(c->fd, c->in + c->in_size, c->in_space - c->in_size, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno == ECONNRESET)) {
        return shc__closed(c);
    }
    if (n < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
            return SHC_OK;
        }
        shc__system(c, "recv");
        return shc__end(c, SHC_SYSTEM);
    }
    c->in_size += (size_t)n;
    c->received = shc__now();
    return SHC_OK;
}

/* Takes the next frame from the input. Sets *whole to 0, and makes room, where it has not
 * arrived yet. */
static int shc__next(shc_client *c, shc__frame *f, int *whole) {
    shc__reader r;
    size_t have, size, flags;
    *whole = 0;
    do {
        have = c->in_size - c->in_taken;
        if (have < SHC__HEADER) {
            return shc__room(c, 65536);
        }
        r.next = c->in + c->in_taken;
        r.left = have;
        r.bad = 0;
        size = (size_t)shc__get(&r, 4);
        f->type = (int)shc__get(&r, 2);
        flags = (size_t)shc__get(&r, 2);
        f->request = shc__get(&r, 8);
        if (size > SHC_MAX_BODY || flags != 0) {
            return shc__bad_answer(c, "what is not a frame");
        }
        if (have < SHC__HEADER + size) {
            return shc__room(c, SHC__HEADER + size);
        }
        f->body = r.next;
        f->size = size;
        c->in_taken += SHC__HEADER + size;
        if (f->type == SHC__WAKE) {
            /* It says so every 3 s; what it has not received has its deadline then. */
            uint64_t least = 10u * (uint64_t)SHC__SECOND;
            c->alive = shc__later(c->span > least ? c->span : least);
        }
    } while (f->type == SHC__WAKE && f->request == 0);
    *whole = 1;
    return SHC_OK;
}

/* Waits for the next frame. */
static int shc__receive(shc_client *c, uint64_t until, shc__frame *f) {
    for (;;) {
        int whole, code = shc__next(c, f, &whole);
        if (code != SHC_OK || whole) {
            return code;
        }
        if (shc__poll(c, POLLIN, until) == 0) {
            return c->ended;
        }
        if ((code = shc__fill(c)) != SHC_OK) {
            return code;
        }
    }
}

/* Takes the replies that have come while a request is being sent: a server whose
 * replies are not read stops reading. */
static int shc__drain(shc_client *c) {
    for (;;) {
        shc__frame f;
        int whole, code = shc__next(c, &f, &whole);
        if (code != SHC_OK) {
            return code;
        }
        if (!whole) {
            return shc__fill(c);
        }
        if ((code = shc__complete(c, &f)) != SHC_OK) {
            return code;
        }
    }
}

/* Returns the error that the server sent before it closed, else that it closed. */
static int shc__final_error(shc_client *c) {
    shc__frame f;
    uint64_t until = shc__later(SHC__SECOND);
    for (;;) {
        int code = shc__receive(c, until, &f);
        if (code != SHC_OK) {
            return code;
        }
        if (f.type == SHC__ERROR && (f.request == 0 || f.request == c->last_request)) {
            code = shc__server_error(c, &f);
            return c->ended != SHC_OK ? code : shc__end(c, code);
        }
        if ((code = shc__complete(c, &f)) != SHC_OK) {
            return code;
        }
    }
}

/* Sends n bytes of the frame that is being written, the descriptor with the first. */
static ssize_t shc__send_some(shc_client *c, size_t from, int descriptor) {
    struct msghdr m;
    struct iovec v;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&m, 0, sizeof m);
    v.iov_base = c->out + from;
    v.iov_len = c->out_size - from;
    m.msg_iov = &v;
    m.msg_iovlen = 1;
    if (from == 0 && descriptor >= 0) {
        struct cmsghdr *head;
        memset(&control, 0, sizeof control);
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof control.bytes;
        head = CMSG_FIRSTHDR(&m);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
    }
    return sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Sends the frame that is being written. A descriptor of -1 is none. */
static int shc__send(shc_client *c, int descriptor, uint64_t until) {
    size_t sent = 0, size = c->out_size, i;
    if (c->out_fault != NULL) {
        return shc__fail(c, c->out_no_memory ? SHC_SYSTEM : SHC_USAGE, NULL, "%s", c->out_fault);
    }
    for (i = 0; i < 4; i++) {
        c->out[i] = (unsigned char)(((size - SHC__HEADER) >> (8 * i)) & 0xff);
    }
    while (sent < size) {
        ssize_t n = shc__send_some(c, sent, descriptor);
        if (n > 0) {
            sent += (size_t)n;
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            int code, events = shc__poll(c, POLLIN | POLLOUT, until);
            if (events == 0) {
                return c->ended;
            }
            if ((events & POLLIN) != 0 && (code = shc__drain(c)) != SHC_OK) {
                return code;
            }
        } else if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
            return shc__final_error(c);
        } else if (n < 0 && errno != EINTR) {
            shc__system(c, "sendmsg");
            return shc__end(c, SHC_SYSTEM);
        }
    }
    return SHC_OK;
}

/* Sends the frame that is being written and waits for its reply, which r then reads. */
static int shc__call(shc_client *c, int descriptor, uint64_t until, shc__reader *r) {
    shc__frame f;
    uint64_t request = c->last_request;
    int type = c->out_fault == NULL ? c->out[4] : 0;
    int code = shc__send(c, descriptor, until);
    while (code == SHC_OK) {
        code = shc__receive(c, until, &f);
        if (code != SHC_OK) {
            return code;
        }
        if (f.request == request && f.type == SHC__ERROR) {
            return shc__server_error(c, &f);
        }
        if (f.request == request) {
            *r = shc__body(&f);
            return f.type == (type | SHC__REPLY)
                       ? SHC_OK
                       : shc__bad_answer(c, "a reply of another type than its request");
        }
        code = shc__complete(c, &f);
    }
    return code;
}

/* Calls a request whose reply is empty. */
static int shc__call_empty(shc_client *c, int descriptor, uint64_t timeout) {
    shc__reader r;
    uint64_t until = shc__later(timeout);
    size_t i;
    int code;
    for (i = 0; i < c->pending_count; i++) { /* it may wait for the jobs before it */
        until = c->pending[i].until > until ? c->pending[i].until : until;
    }
    if ((code = shc__call(c, descriptor, until, &r)) != SHC_OK) {
        return code;
    }
    return shc__read_all(c, &r);
}

/* ---- Session ---- */

/* Checks the directory of the default place: every user can write to /tmp. */
static int shc__check_directory(shc_client *c, const char *dir) {
    struct stat s;
    if (lstat(dir, &s) != 0) {
        return shc__fail(c, SHC_NO_SERVER, "start one: shadercache serve", "no server: %s: %s", dir,
                         strerror(errno));
    }
    if (!S_ISDIR(s.st_mode) || s.st_uid != getuid() || (s.st_mode & 077) != 0) {
        return shc__fail(c, SHC_NO_SERVER, "remove it, and start the server again",
                         "%s is not a directory that only this user can use", dir);
    }
    return SHC_OK;
}

/* Prints the place of the socket into address. */
static int shc__find_socket(shc_client *c, const char *path, struct sockaddr_un *address) {
    const char *env = getenv("SHADERCACHE_SERVER"), *runtime = getenv("XDG_RUNTIME_DIR");
    char dir[64];
    int n, code;
    if (path != NULL && path[0] == 0) {
        path = NULL;
    }
    if (path == NULL && env != NULL && strcmp(env, "off") == 0) {
        return shc__fail(c, SHC_NO_SERVER, "unset it, or give a path", "SHADERCACHE_SERVER is off");
    }
    if (path == NULL && env != NULL && env[0] != 0 && strcmp(env, "auto") != 0 &&
        strcmp(env, "start") != 0) {
        path = env;
    }
    if (path != NULL && path[0] != '/') {
        return shc__fail(c, SHC_USAGE,
                         "give an absolute path, or auto, start or off in SHADERCACHE_SERVER",
                         "the path of the socket is \"%s\"", path);
    }
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (path != NULL) {
        n = snprintf(address->sun_path, sizeof address->sun_path, "%s", path);
    } else if (runtime != NULL && runtime[0] == '/') {
        n = snprintf(address->sun_path, sizeof address->sun_path, "%s/shadercache/socket", runtime);
    } else {
        snprintf(dir, sizeof dir, "/tmp/shadercache-%lu", (unsigned long)getuid());
        if ((code = shc__check_directory(c, dir)) != SHC_OK) {
            return code;
        }
        n = snprintf(address->sun_path, sizeof address->sun_path, "%s/socket", dir);
    }
    if (n < 0 || (size_t)n >= sizeof address->sun_path) {
        return shc__fail(c, SHC_USAGE, "give a path of at most 107 bytes",
                         "the path of the socket is too long");
    }
    return SHC_OK;
}

static int shc__connect(shc_client *c, const struct sockaddr_un *address) {
    struct timeval timeout;
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0) {
        return shc__system(c, "socket");
    }
    /* connect waits while the queue of a server that is stopped is full */
    timeout.tv_sec = (time_t)(c->timeout / SHC__SECOND);
    timeout.tv_usec = 0;
    setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    while (connect(c->fd, (const struct sockaddr *)address, sizeof *address) != 0) {
        if (errno == EAGAIN) {
            return shc__timed_out(c);
        }
        if (errno != EINTR) {
            return shc__fail(c, SHC_NO_SERVER, "start one: shadercache serve",
                             "no server at %s: %s", address->sun_path, strerror(errno));
        }
    }
    return SHC_OK;
}

static int shc__read_welcome(shc_client *c, shc__reader *r) {
    const unsigned char *fingerprint;
    unsigned version = (unsigned)shc__get(r, 2);
    if (version != SHC_PROTOCOL_VERSION && !r->bad) {
        shc__fail(c, SHC_VERSION, "use a client and a server of the same release",
                  "the server speaks version %u of the protocol, this client %d", version,
                  SHC_PROTOCOL_VERSION);
        return shc__end(c, SHC_VERSION);
    }
    c->info.session = shc__get(r, 8);
    c->info.generation = shc__get(r, 8);
    shc__get_text(r, c->info.server);
    shc__get_text(r, c->info.device);
    shc__get_text(r, c->info.label);
    fingerprint = shc__take(r, 32);
    if (fingerprint != NULL) {
        memcpy(c->info.fingerprint, fingerprint, 32);
    }
    c->info.jobs = shc__get32(r);
    c->info.objects = shc__get32(r);
    c->info.memory = shc__get(r, 8);
    c->info.buffers = shc__get(r, 8);
    c->info.named = shc__get(r, 8);
    c->info.deadline_ns = shc__get(r, 8);
    c->info.longest_ns = shc__get(r, 8);
    c->info.zero_copy = shc__get_flag(r);
    shc__get_text(r, c->info.ended);
    c->info.number = shc__get32(r);
    c->info.devices = shc__get32(r);
    shc__get_text(r, c->info.uuid);
    shc__take(r, 60); /* what the GPU allows jobs: the server checks it */
    return shc__read_all(c, r);
}

static int shc__hello(shc_client *c, const shc_place *place) {
    const char *device = place != NULL && place->device != NULL ? place->device : "";
    const char *near_buffer = place != NULL && place->near_buffer != NULL ? place->near_buffer : "";
    shc__reader r;
    int code;
    shc__head(c, SHC__HELLO);
    shc__u32(c, SHC__MAGIC);
    shc__u16(c, SHC_PROTOCOL_VERSION);
    shc__u16(c, SHC_PROTOCOL_VERSION);
    shc__text(c, "c", SHC__MAX_NAME);
    if (*device != 0 || *near_buffer != 0) {
        shc__text(c, device, SHC__MAX_NAME);
        shc__text(c, near_buffer, SHC__MAX_NAME);
    }
    if ((code = shc__call(c, -1, shc__later(c->timeout), &r)) != SHC_OK) {
        return code;
    }
    return shc__read_welcome(c, &r);
}

int shc_open(shc_client **client, const char *path) { return shc_open_at(client, path, NULL); }

int shc_open_at(shc_client **client, const char *path, const shc_place *place) {
    struct sockaddr_un address;
    int code;
    shc_client *c = *client = (shc_client *)calloc(1, sizeof(shc_client));
    if (c == NULL) {
        return SHC_SYSTEM;
    }
    c->fd = -1;
    c->pid = getpid();
    c->timeout = 60 * (uint64_t)SHC__SECOND;
    c->compile_timeout = 660 * (uint64_t)SHC__SECOND; /* a server compiles for at most 10 minutes */
    if ((code = shc__find_socket(c, path, &address)) == SHC_OK &&
        (code = shc__connect(c, &address)) == SHC_OK && (code = shc__hello(c, place)) == SHC_OK) {
        c->open = 1;
        return SHC_OK;
    }
    return shc__end(c, code);
}

void shc_close(shc_client *c) {
    if (c == NULL) {
        return;
    }
    shc__hang_up(c);
    while (c->pending_count > 0) {
        shc__forget(c, c->pending);
    }
    free(c->pending);
    free(c->out);
    free(c->in);
    free(c->text);
    free(c->advice);
    free(c);
}

const shc_info *shc_server(const shc_client *c) { return c != NULL && c->open ? &c->info : NULL; }

void shc_set_timeout(shc_client *c, uint64_t nanoseconds) {
    if (c != NULL) {
        c->timeout = c->compile_timeout = nanoseconds;
    }
}

int shc_status(shc_client *c, char **json) {
    shc__reader r;
    const unsigned char *bytes;
    size_t n;
    int code = shc__begin(c, SHC__STATUS);
    if (code != SHC_OK) {
        return code;
    }
    if ((code = shc__call(c, -1, shc__later(c->timeout), &r)) != SHC_OK) {
        return code;
    }
    bytes = shc__get_data(&r, 4, &n);
    if ((code = shc__read_all(c, &r)) != SHC_OK) {
        return code;
    }
    *json = shc__string(bytes, n);
    return *json != NULL ? SHC_OK : shc__system(c, "malloc");
}

/* Releases an object of a kind. */
static int shc__release(shc_client *c, int kind, uint32_t id) {
    int code = shc__begin(c, SHC__RELEASE);
    if (code != SHC_OK) {
        return code;
    }
    shc__u8(c, kind);
    shc__u32(c, id);
    return shc__call_empty(c, -1, c->timeout);
}

static int shc__delete(shc_client *c, int kind, const char *name) {
    int code = shc__begin(c, SHC__DELETE);
    if (code != SHC_OK) {
        return code;
    }
    shc__u8(c, kind);
    shc__text(c, name, SHC__MAX_NAME);
    return shc__call_empty(c, -1, c->timeout);
}

/* ---- Programs ---- */

/* Reads and discards the list of resources: its end is checked. */
static void shc__skip_resources(shc__reader *r) {
    uint64_t n = shc__get(r, 2);
    for (; n > 0 && !r->bad; n--) {
        size_t size;
        shc__take(r, 13);
        shc__get_data(r, 2, &size);
        shc__take(r, 20);
        shc__get_data(r, 2, &size);
    }
}

int shc_load(shc_client *c, const shc_source *s, shc_program *program) {
    shc__reader r;
    shc_program loaded;
    const unsigned char *key;
    size_t i;
    int code = shc__begin_object(c, SHC__PROGRAM, &loaded.id);
    if (code != SHC_OK) {
        return code;
    }
    shc__u8(c, s->text == NULL ? SHC__FORM_NAME : s->final ? SHC__FORM_FINAL : SHC__FORM_SOURCE);
    shc__text(c, s->name, SHC__MAX_NAME);
    shc__data(c, s->text, s->text == NULL ? 0 : strlen(s->text));
    shc__count(c, s->define_count);
    for (i = 0; i < s->define_count; i++) {
        shc__text(c, s->defines[i].name, SHC__MAX_DEFINE);
        shc__text(c, s->defines[i].value, SHC__MAX_DEFINE);
    }
    if ((code = shc__call(c, -1, shc__later(c->compile_timeout), &r)) != SHC_OK) {
        return code;
    }
    if ((key = shc__take(&r, 32)) != NULL) {
        memcpy(loaded.key, key, 32);
    }
    loaded.origin = (int)shc__get(&r, 1);
    for (i = 0; i < 3; i++) {
        loaded.work_group[i] = shc__get32(&r);
    }
    shc__skip_resources(&r);
    if ((code = shc__read_all(c, &r)) == SHC_OK) {
        *program = loaded;
    }
    return code;
}

int shc_program_release(shc_client *c, const shc_program *p) {
    return shc__release(c, SHC__KIND_PROGRAM, p->id);
}

/* ---- Memory and buffers ---- */

/* Returns the descriptor of a sealed memfd, which *data maps, or -1. */
static int shc__map(shc_client *c, size_t size, void **data) {
    int fd = memfd_create("shadercache", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        shc__system(c, "memfd_create");
        return -1;
    }
    if (ftruncate(fd, (off_t)size) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
        shc__system(c, "memfd");
    } else {
        *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (*data != MAP_FAILED) {
            return fd;
        }
        shc__system(c, "mmap");
    }
    close(fd);
    return -1;
}

int shc_memory_make(shc_client *c, size_t size, shc_memory *memory) {
    shc_memory made;
    int fd, code = shc__begin_object(c, SHC__MEMORY, &made.id);
    if (code != SHC_OK) {
        return code;
    }
    if (size == 0 || size > PTRDIFF_MAX) {
        return shc__fail(c, SHC_USAGE, NULL, "memory of %zu bytes", size);
    }
    if ((fd = shc__map(c, size, &made.data)) < 0) {
        return SHC_SYSTEM;
    }
    made.size = size;
    shc__u64(c, size);
    code = shc__call_empty(c, fd, c->compile_timeout);
    close(fd);
    if (code != SHC_OK) {
        munmap(made.data, size);
        return code;
    }
    *memory = made;
    return SHC_OK;
}

int shc_memory_release(shc_client *c, shc_memory *memory) {
    if (memory->data != NULL) {
        munmap(memory->data, memory->size);
        memory->data = NULL;
    }
    return shc__release(c, SHC__KIND_MEMORY, memory->id);
}

int shc_buffer_open(shc_client *c, const char *name, uint64_t size, int flags, shc_buffer *buffer) {
    shc__reader r;
    shc_buffer opened;
    int code = shc__begin_object(c, SHC__BUFFER, &opened.id);
    if (code != SHC_OK) {
        return code;
    }
    shc__u8(c, flags);
    shc__u64(c, size);
    shc__text(c, name, SHC__MAX_NAME);
    if ((code = shc__call(c, -1, shc__later(c->compile_timeout), &r)) != SHC_OK) {
        return code;
    }
    opened.size = shc__get(&r, 8);
    opened.version = shc__get(&r, 8);
    opened.created = shc__get_flag(&r);
    if (opened.size >> 62 || (size != 0 && opened.size != size)) {
        r.bad = 1;
    }
    if ((code = shc__read_all(c, &r)) == SHC_OK) {
        *buffer = opened;
    }
    return code;
}

int shc_buffer_release(shc_client *c, const shc_buffer *b) {
    return shc__release(c, SHC__KIND_BUFFER, b->id);
}
int shc_buffer_delete(shc_client *c, const char *name) {
    return shc__delete(c, SHC__KIND_BUFFER, name);
}
int shc_plan_delete(shc_client *c, const char *name) {
    return shc__delete(c, SHC__KIND_PLAN, name);
}

int shc_texture_create(shc_client *c, const shc_shape *shape, shc_texture *texture) {
    shc__reader r;
    uint32_t id;
    int code = shc__begin_object(c, SHC__TEXTURE, &id);
    if (code != SHC_OK) {
        return code;
    }
    shc__u8(c, shape->kind == 0 ? SHC_2D : shape->kind);
    shc__u8(c, shape->format);
    shc__u64(c, shape->width);
    shc__u64(c, shape->height == 0 ? 1 : shape->height);
    shc__u64(c, shape->depth == 0 ? 1 : shape->depth);
    shc__u64(c, shape->levels == 0 ? 1 : shape->levels);
    if ((code = shc__call(c, -1, shc__later(c->compile_timeout), &r)) != SHC_OK) {
        return code;
    }
    shc__get_flag(&r);
    if ((code = shc__read_all(c, &r)) == SHC_OK) {
        texture->id = id;
    }
    return code;
}

int shc_texture_release(shc_client *c, const shc_texture *texture) {
    return shc__release(c, SHC__KIND_TEXTURE, texture->id);
}

static shc_range shc__range(int place, uint32_t id, uint64_t offset, uint64_t size) {
    shc_range r;
    r.place = place;
    r.id = id;
    r.offset = offset;
    r.size = size;
    r.in = NULL;
    r.out = NULL;
    return r;
}

shc_range shc_none(void) { return shc__range(SHC__NONE, 0, 0, 0); }

shc_range shc_in(const void *bytes, size_t size) {
    shc_range r = shc__range(SHC__INLINE, 0, 0, size);
    r.in = bytes;
    return r;
}

shc_range shc_out(void *bytes, size_t size) {
    shc_range r = shc__range(SHC__INLINE, 0, 0, size);
    r.out = bytes;
    return r;
}

shc_range shc_memory_range(const shc_memory *m, uint64_t offset, uint64_t size) {
    return shc__range(SHC__SHARED, m->id, offset, size);
}

shc_range shc_buffer_range(const shc_buffer *b, uint64_t offset, uint64_t size) {
    return shc__range(SHC__DEVICE, b->id, offset, size);
}

shc_range shc_texels(const shc_texture *t) { return shc__range(SHC__TEXELS, t->id, 0, 0); }

int shc_copy_bytes(shc_client *c, const shc_copy *copy, uint64_t *version) {
    int i;
    shc__reader r;
    shc__target target;
    uint64_t after;
    int code = shc__begin(c, SHC__COPY);
    if (code != SHC_OK) {
        return code;
    }
    shc__u64(c, copy->deadline_ns);
    shc__operand(c, &copy->from, 1);
    shc__operand(c, &copy->to, 0);
    if (copy->from.place == SHC__TEXELS || copy->to.place == SHC__TEXELS) {
        for (i = 0; i < 7; i++) {
            shc__u32(c, (uint32_t)copy->region[i]);
        }
    }
    shc__u64(c, copy->version);
    shc__u64(c, copy->expect);
    shc__u8(c, copy->check != 0);
    if ((code = shc__call(c, -1, shc__until(c, copy->deadline_ns), &r)) != SHC_OK) {
        return code;
    }
    target.bytes = copy->to.out;
    target.size = copy->to.place == SHC__INLINE ? (size_t)copy->to.size : 0;
    after = shc__get(&r, 8);
    if ((code = shc__scatter(c, &r, &target, 1)) == SHC_OK && version != NULL) {
        *version = after;
    }
    return code;
}

int shc_buffer_write(shc_client *c, shc_buffer *b, uint64_t offset, const void *bytes,
                     size_t size) {
    shc_copy copy;
    memset(&copy, 0, sizeof copy);
    copy.from = shc_in(bytes, size);
    copy.to = shc_buffer_range(b, offset, size);
    return shc_copy_bytes(c, &copy, &b->version);
}

int shc_buffer_read(shc_client *c, shc_buffer *b, uint64_t offset, void *bytes, size_t size) {
    shc_copy copy;
    memset(&copy, 0, sizeof copy);
    copy.from = shc_buffer_range(b, offset, size);
    copy.to = shc_out(bytes, size);
    return shc_copy_bytes(c, &copy, &b->version);
}

/* ---- Jobs ---- */

/* Makes an entry for the request that is being written, with room for the targets. */
static shc__pending *shc__expect(shc_client *c, int type, uint64_t deadline, size_t targets) {
    shc__pending *p;
    if (c->pending_count == c->pending_space) {
        size_t space = 2 * c->pending_space + 16;
        p = (shc__pending *)realloc(c->pending, space * sizeof *p);
        if (p == NULL) {
            shc__system(c, "realloc");
            return NULL;
        }
        c->pending = p;
        c->pending_space = space;
    }
    p = &c->pending[c->pending_count];
    memset(p, 0, sizeof *p);
    p->targets = (shc__target *)malloc((targets + 1) * sizeof *p->targets);
    if (p->targets == NULL) {
        shc__system(c, "malloc");
        return NULL;
    }
    p->request = c->last_request;
    p->type = type;
    p->until = shc__until(c, deadline);
    c->pending_count++;
    return p;
}

static void shc__add_target(shc__pending *p, const shc_range *r) {
    if (r->place == SHC__INLINE) {
        p->targets[p->target_count].bytes = r->out;
        p->targets[p->target_count].size = (size_t)r->size;
        p->target_count++;
    }
}

/* Sends the frame that is being written; the last pending entry is its own. */
static int shc__submit(shc_client *c, uint64_t until, uint64_t *request) {
    uint64_t number = c->last_request;
    int code = shc__send(c, -1, until);
    shc__pending *p = shc__find(c, number);
    if (code == SHC_OK) {
        *request = number;
    } else if (p != NULL) {
        shc__forget(c, p);
    }
    return code;
}

static void shc__put_texture(shc_client *c, const char *name, const shc_texture *texture) {
    shc__text(c, name, SHC__MAX_NAME);
    shc__u32(c, 0); /* no unit: it has a name */
    shc__u32(c, texture->id);
}

static void shc__put_images(shc_client *c, const shc_image *list, size_t n) {
    size_t i;
    shc__count(c, n);
    for (i = 0; i < n; i++) {
        shc__put_texture(c, list[i].name, list[i].texture);
        shc__u32(c, (uint32_t)list[i].level);
        shc__u32(c, (uint32_t)list[i].layer);
        shc__u8(c, list[i].access);
        shc__u8(c, list[i].format);
    }
}

static void shc__put_samplers(shc_client *c, const shc_sampler *list, size_t n) {
    size_t i, k;
    shc__count(c, n);
    for (i = 0; i < n; i++) {
        shc__put_texture(c, list[i].name, list[i].texture);
        shc__u8(c, list[i].min_linear == 1);
        shc__u8(c, list[i].mag_linear == 1);
        shc__u8(c, list[i].mip == SHC_LEVEL_0 ? 2 : list[i].mip - 1);
        for (k = 0; k < 3; k++) {
            shc__u8(c, list[i].wrap[k]);
        }
        shc__u8(c, list[i].compare);
    }
}

static void shc__put_dispatch(shc_client *c, const shc_dispatch *d) {
    int sized = (d->group_size[0] | d->group_size[1] | d->group_size[2]) != 0;
    size_t i;
    shc__u32(c, d->program->id);
    for (i = 0; i < 3; i++) {
        shc__u32(c, d->groups[i]);
    }
    shc__u32(c, d->params_binding);
    shc__data(c, d->params, d->params == NULL ? 0 : d->params_size);
    shc__count(c, d->uniform_count);
    for (i = 0; i < d->uniform_count; i++) {
        const shc_uniform *u = &d->uniforms[i];
        uint32_t bits;
        memcpy(&bits, &u->value, sizeof bits);
        shc__u8(c, u->kind);
        if (u->kind >= SHC_INTS) {
            shc__data(c, u->value.many.components, u->value.many.size);
        } else {
            shc__u32(c, bits);
        }
        shc__text(c, u->name, SHC__MAX_NAME);
    }
    shc__bindings(c, d->buffers, d->buffer_count, 0);
    shc__u8(c, sized | (d->indirect != NULL ? 2 : 0) | (d->block_count > 0 ? 4 : 0) |
                   (d->image_count > 0 ? 8 : 0) | (d->sampler_count > 0 ? 16 : 0));
    for (i = 0; sized && i < 3; i++) {
        shc__u32(c, d->group_size[i]);
    }
    if (d->indirect != NULL) {
        shc__u32(c, d->indirect->id);
        shc__u64(c, d->indirect_offset);
    }
    if (d->block_count > 0) {
        shc__count(c, d->block_count);
        for (i = 0; i < d->block_count; i++) {
            shc__u32(c, d->blocks[i].binding);
            shc__operand(c, &d->blocks[i].range, 1);
        }
    }
    if (d->image_count > 0) {
        shc__put_images(c, d->images, d->image_count);
    }
    if (d->sampler_count > 0) {
        shc__put_samplers(c, d->samplers, d->sampler_count);
    }
}

/* Writes the words that counters start with, or their buffers. */
static void shc__put_counters(shc_client *c, const shc_counter *list, size_t n) {
    size_t i;
    shc__u8(c, n > 0 ? 4 : 0);
    if (n > 0) {
        shc__count(c, n);
    }
    for (i = 0; i < n; i++) {
        shc_range words = shc_in(list[i].words, list[i].count * sizeof *list[i].words);
        int inlined = list[i].words != NULL;
        shc__u32(c, list[i].binding);
        shc__operand(c, inlined ? &words : &list[i].buffer, 1);
        shc__u32(c, inlined ? (uint32_t)list[i].count : 0);
    }
}

/* Returns why a dispatch is not one of the protocol, or NULL. */
static const char *shc__wrong_dispatch(const shc_dispatch *d) {
    size_t i;
    for (i = 0; i < d->uniform_count; i++) {
        const shc_uniform *u = &d->uniforms[i];
        size_t component = u->kind == SHC_DOUBLES ? 8 : 4;
        if (u->kind < SHC_INT || u->kind > SHC_DOUBLES) {
            return "a uniform whose kind is none of SHC_INT to SHC_DOUBLES";
        }
        if (u->kind >= SHC_INTS &&
            (u->value.many.size < 8 || u->value.many.size % component != 0)) {
            return "a uniform whose size is not that of its components, or below 8 bytes";
        }
    }
    for (i = 0; i < d->buffer_count; i++) {
        if (d->buffers[i].range.place != SHC__DEVICE) {
            return "a buffer of a dispatch that is no shc_buffer_range";
        }
    }
    for (i = 0; i < d->block_count; i++) {
        int place = d->blocks[i].range.place;
        if (place != SHC__DEVICE && place != SHC__INLINE) {
            return "a block that is neither shc_in nor shc_buffer_range";
        }
    }
    return NULL;
}

/* Returns why inputs or outputs are not those of the protocol, or NULL. */
static const char *shc__wrong_operands(const shc_binding *list, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) {
        if (list[i].read_only) {
            return "read_only of an input or output: it is for buffers of a dispatch";
        }
    }
    return NULL;
}

/* Returns why a job is not one of the protocol, or NULL: the server ends a session that sends
 * such a one. */
static const char *shc__wrong_job(const shc_job *job) {
    size_t i;
    const char *wrong = job->dispatch_count == 0 ? "a job without dispatches" : NULL;
    wrong = wrong != NULL ? wrong : shc__wrong_operands(job->inputs, job->input_count);
    wrong = wrong != NULL ? wrong : shc__wrong_operands(job->outputs, job->output_count);
    for (i = 0; i < job->dispatch_count && wrong == NULL; i++) {
        wrong = shc__wrong_dispatch(&job->dispatches[i]);
    }
    for (i = 0; i < job->counter_count && wrong == NULL; i++) {
        const shc_counter *k = &job->counters[i];
        if (k->words == NULL && (k->buffer.place != SHC__DEVICE || k->buffer.size != 0)) {
            wrong = "counters that are neither words nor shc_buffer_range of size 0";
        }
    }
    return wrong;
}

int shc_submit(shc_client *c, const shc_job *job, uint64_t *request) {
    shc__pending *p;
    size_t i;
    int code = shc__begin(c, SHC__JOB);
    if (code != SHC_OK) {
        return code;
    }
    c->out_fault = shc__wrong_job(job);
    shc__u64(c, job->deadline_ns);
    shc__bindings(c, job->inputs, job->input_count, 1);
    shc__bindings(c, job->outputs, job->output_count, 0);
    shc__count(c, job->dispatch_count);
    for (i = 0; i < job->dispatch_count; i++) {
        shc__put_dispatch(c, &job->dispatches[i]);
    }
    shc__put_counters(c, job->counters, job->counter_count);
    p = shc__expect(c, SHC__JOB, job->deadline_ns, job->counter_count + job->output_count);
    if (p == NULL) {
        return SHC_SYSTEM;
    }
    for (i = 0; i < job->counter_count; i++) {
        const shc_counter *k = &job->counters[i];
        if (k->words != NULL) {
            shc_range words = shc_out(k->words, k->count * sizeof *k->words);
            shc__add_target(p, &words);
        }
    }
    for (i = 0; i < job->output_count; i++) {
        shc__add_target(p, &job->outputs[i].range);
    }
    return shc__submit(c, p->until, request);
}

/* Makes the result of a request that of the call, and forgets the request. */
static int shc__collect(shc_client *c, shc__pending *p) {
    int code = p->code;
    shc__set_error(c, code, p->message, p->hint);
    p->message = p->hint = NULL;
    shc__forget(c, p);
    return code;
}

int shc_wait(shc_client *c, uint64_t request) {
    int code = shc__ready(c);
    shc__pending *p;
    if (code != SHC_OK && code != SHC_FORKED && c != NULL && (p = shc__find(c, request)) != NULL &&
        p->done) {
        return shc__collect(c, p); /* it was done before the session ended */
    }
    while (code == SHC_OK) {
        shc__frame f;
        if ((p = shc__find(c, request)) == NULL) {
            return shc__fail(c, SHC_USAGE, NULL, "no request %llu, or it was waited for",
                             (unsigned long long)request);
        }
        if (p->done) {
            return shc__collect(c, p);
        }
        if ((code = shc__receive(c, p->until, &f)) == SHC_OK) {
            code = shc__complete(c, &f);
        }
    }
    return code;
}

int shc_run(shc_client *c, const shc_job *job) {
    uint64_t request;
    int code = shc_submit(c, job, &request);
    return code != SHC_OK ? code : shc_wait(c, request);
}

int shc_cancel(shc_client *c, uint64_t request) {
    int code = shc__begin(c, SHC__CANCEL);
    if (code != SHC_OK) {
        return code;
    }
    shc__u64(c, request);
    return shc__call_empty(c, -1, c->timeout);
}

/* ---- Plans ---- */

int shc_plan_open(shc_client *c, const char *name, const char *spec, int flags, shc_plan *plan) {
    shc__reader r;
    shc_plan opened;
    size_t n;
    int code = shc__begin_object(c, SHC__PLAN, &opened.id);
    if (code != SHC_OK) {
        return code;
    }
    shc__u8(c, flags);
    shc__text(c, name, SHC__MAX_NAME);
    shc__data(c, spec, spec == NULL ? 0 : strlen(spec));
    if ((code = shc__call(c, -1, shc__later(c->compile_timeout), &r)) != SHC_OK) {
        return code;
    }
    opened.created = shc__get_flag(&r);
    opened.has_weights = shc__get_flag(&r);
    opened.version = shc__get(&r, 8);
    opened.input = shc__get(&r, 8);
    opened.weights = shc__get(&r, 8);
    opened.bias = shc__get(&r, 8);
    opened.output = shc__get(&r, 8);
    shc__get_data(&r, 4, &n); /* the algorithms of the layers */
    shc__get_data(&r, 4, &n); /* the programs */
    if ((code = shc__read_all(c, &r)) == SHC_OK) {
        *plan = opened;
    }
    return code;
}

int shc_plan_release(shc_client *c, const shc_plan *p) {
    return shc__release(c, SHC__KIND_PLAN, p->id);
}

int shc_plan_weights(shc_client *c, shc_plan *plan, uint64_t version, shc_range weights,
                     shc_range bias) {
    shc__reader r;
    int code = shc__begin(c, SHC__WEIGHTS);
    if (code != SHC_OK) {
        return code;
    }
    shc__u32(c, plan->id);
    shc__u64(c, version);
    shc__u64(c, 0);
    shc__operand(c, &weights, 1);
    shc__operand(c, &bias, 1);
    if ((code = shc__call(c, -1, shc__until(c, 0), &r)) != SHC_OK) {
        return code;
    }
    shc__get_flag(&r);
    if ((code = shc__read_all(c, &r)) == SHC_OK) {
        plan->version = version;
        plan->has_weights = 1;
    }
    return code;
}

int shc_plan_submit(shc_client *c, const shc_plan *plan, uint64_t deadline_ns, shc_range input,
                    shc_range output, uint64_t *request) {
    shc__pending *p;
    int code = shc__begin(c, SHC__RUN);
    if (code != SHC_OK) {
        return code;
    }
    shc__u32(c, plan->id);
    shc__u64(c, deadline_ns);
    shc__operand(c, &input, 1);
    shc__operand(c, &output, 0);
    if ((p = shc__expect(c, SHC__RUN, deadline_ns, 1)) == NULL) {
        return SHC_SYSTEM;
    }
    shc__add_target(p, &output);
    return shc__submit(c, p->until, request);
}

int shc_plan_run(shc_client *c, const shc_plan *plan, uint64_t deadline_ns, shc_range input,
                 shc_range output) {
    uint64_t request;
    int code = shc_plan_submit(c, plan, deadline_ns, input, output, &request);
    return code != SHC_OK ? code : shc_wait(c, request);
}

#endif /* SHADERCACHE_IMPLEMENTED */
#endif /* SHADERCACHE_IMPLEMENTATION */
