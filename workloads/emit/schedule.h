/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "workloads/emit/path.h"

/* Groups of paths, which threads run in turn. Paths can be added at any time. No thread runs a path
 * of a closed group; when all groups are closed, all threads are at a safepoint. */
enum { JP_SCHEDULE_GROUPS = 2 };
struct jp_schedule {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct jp_schedule_group {
		const struct jp_path **paths;
		size_t count;
		unsigned nr_inside;
		bool closed;
	} groups[JP_SCHEDULE_GROUPS];
	struct jp_scheduled *threads;
};

void jp_schedule_open(struct jp_schedule *schedule);
void jp_schedule_free(struct jp_schedule *schedule);
/* Adds @count paths to @group. They must exist as long as they are in the group. Returns 0 or
 * -ENOMEM. */
int jp_schedule_add(struct jp_schedule *schedule, unsigned group, const struct jp_path *paths,
		    size_t count);
/* Removes all paths from a closed group. */
void jp_schedule_clear(struct jp_schedule *schedule, unsigned group);
/* Closes @group and waits until no thread runs a path of it. */
void jp_schedule_close_group(struct jp_schedule *schedule, unsigned group);
void jp_schedule_open_group(struct jp_schedule *schedule, unsigned group);
/* Starts a thread that runs the schedule's paths. Returns as jp_path_run_thread(). */
int jp_schedule_start_thread(struct jp_schedule *schedule);
