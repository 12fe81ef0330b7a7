/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <pthread.h>

/* A thread that runs @body(@context), with its maker, start, name and end in the truth. Returns
 * once it runs. 0 or -errno. */
int jp_thread_make(pthread_t *thread, void *(*body)(void *context), void *context);
/* Joins one of those; the truth has by when the kernel let go of it, as soon as that is seen. */
void jp_thread_join(pthread_t thread, void **result);
/* In a forked child: the parent's threads are none of its own. */
void jp_thread_forked(void);
