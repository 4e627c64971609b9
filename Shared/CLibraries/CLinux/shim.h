#pragma once
// The Glibc module of Swift leaves these headers out.
#include <sys/epoll.h>
#include <sys/eventfd.h>
