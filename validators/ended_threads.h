/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/map.h"
#include "harness/format/event.h"

/* Stores in @ended, by thread, that the record @event begins or ends a thread. Returns 0 or
 * -ENOMEM. */
int jp_ended_threads_note(struct jp_map *ended, const struct jp_event *event);
/* Returns whether the sample @event was taken after the EXIT record of its thread, in the kernel
 * and without registers. do_exit() writes the record, and then calls exit_mm() (since Linux 6.16),
 * which takes the user memory. A capture of all CPUs samples the thread until it has left the CPU.
 */
bool jp_ended_threads_have(const struct jp_map *ended, const struct jp_event *event);
