#pragma once
// The Glibc module of Swift leaves these headers out.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>

// prctl is variadic, which Swift cannot import.
static inline void clinux_name_this_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}
