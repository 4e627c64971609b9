#pragma once
// The Glibc module of Swift leaves these headers out.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>

// prctl is variadic, which Swift cannot import.
static inline void clinux_name_this_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

// Declared for GNU sources only.
extern int pipe2(int ends[2], int flags);
static inline int clinux_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC);
}

// As above; in the C library since 2.34.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
static inline int clinux_close_from(posix_spawn_file_actions_t *actions, int from) {
    return posix_spawn_file_actions_addclosefrom_np(actions, from);
}
