/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <pthread.h>

/* Starts a thread that runs body(@context), and records its creator, start, name and end in the
 * truth. Returns 0 once the thread runs, or -errno. */
int jp_thread_make(pthread_t *thread, void *(*body)(void *context), void *context);
/* Joins a thread of jp_thread_make(), and records in the truth when the kernel had released it. */
void jp_thread_join(pthread_t thread, void **result);
/* Forgets the parent's threads. Call it in a forked child. */
void jp_thread_forget_parent(void);
