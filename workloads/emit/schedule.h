/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "workloads/emit/path.h"

/*
 * The paths that threads run in turn, while more are added, and while all threads are kept out of
 * some. They lie in groups: no thread is in a closed one. With every group closed all threads are
 * at a safepoint.
 */
enum { JP_SCHEDULE_GROUPS = 2 };
struct jp_schedule {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct jp_schedule_group {
		const struct jp_path **paths;
		size_t count;
		unsigned inside;
		bool closed;
	} groups[JP_SCHEDULE_GROUPS];
	struct jp_scheduled *threads;
};

void jp_schedule_open(struct jp_schedule *schedule);
void jp_schedule_free(struct jp_schedule *schedule);
/* More paths for @group; they must live as long as they are in it. 0 or -ENOMEM. */
int jp_schedule_add(struct jp_schedule *schedule, unsigned group, const struct jp_path *paths,
		    size_t count);
/* Forgets the paths of a closed group. */
void jp_schedule_clear(struct jp_schedule *schedule, unsigned group);
/* Returns once no thread is in @group; none comes in until it is opened again. */
void jp_schedule_close_group(struct jp_schedule *schedule, unsigned group);
void jp_schedule_open_group(struct jp_schedule *schedule, unsigned group);
/* A thread that runs what is on it, as jp_path_thread(). */
int jp_schedule_thread(struct jp_schedule *schedule);
