/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"

/* Initializers of an act of a truth, which happened between two times, and of a captured event at
 * one time; further fields follow. */
#define MADE_ACT(kind, process, thread, from, until, ...)                                          \
	{                                                                                          \
		.type = JP_EVENT_##kind, .pid = process, .tid = thread, .before = from,            \
		.after = until, __VA_ARGS__                                                        \
	}
#define MADE_EVENT(kind, process, at, ...)                                                         \
	{                                                                                          \
		.type = JP_EVENT_##kind, .pid = process, .tid = process, .time = at, __VA_ARGS__   \
	}
#define MADE_MAP(start, size, flags, called)                                                       \
	.map = {.addr = start, .len = size, .prot = flags, .name = called}

/* Ignores events, for tests that only read a file. */
__attribute__((unused)) static int ignore_event(void *context, const struct jp_event *event)
{
	return 0;
}
