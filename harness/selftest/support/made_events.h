/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"

/* Initializers of events made by hand, with what else they hold behind: an act of the truth that
 * came between two times, and what a capture tells of a process at one. */
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
