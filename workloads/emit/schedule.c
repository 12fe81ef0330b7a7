// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct jp_scheduled {
	struct jp_schedule *schedule;
	struct jp_schedule_group *entered; /* NULL: outside of all groups */
	struct jp_scheduled *next;
};

void jp_schedule_open(struct jp_schedule *schedule)
{
	memset(schedule, 0, sizeof(*schedule));
	pthread_mutex_init(&schedule->lock, NULL);
	pthread_cond_init(&schedule->changed, NULL);
}

void jp_schedule_free(struct jp_schedule *schedule)
{
	for (unsigned i = 0; i < JP_SCHEDULE_GROUPS; i++)
		free(schedule->groups[i].paths);
	for (struct jp_scheduled *next, *thread = schedule->threads; thread; thread = next) {
		next = thread->next;
		free(thread);
	}
	pthread_mutex_destroy(&schedule->lock);
	pthread_cond_destroy(&schedule->changed);
}

int jp_schedule_add(struct jp_schedule *schedule, unsigned group, const struct jp_path *paths,
		    size_t count)
{
	struct jp_schedule_group *to = &schedule->groups[group];
	const struct jp_path **bigger;

	pthread_mutex_lock(&schedule->lock);
	bigger = realloc(to->paths, (to->count + count) * sizeof(*bigger));
	if (bigger) {
		to->paths = bigger;
		for (size_t i = 0; i < count; i++)
			to->paths[to->count++] = &paths[i];
	}
	pthread_cond_broadcast(&schedule->changed);
	pthread_mutex_unlock(&schedule->lock);
	return bigger ? 0 : -ENOMEM;
}

void jp_schedule_clear(struct jp_schedule *schedule, unsigned group)
{
	pthread_mutex_lock(&schedule->lock);
	schedule->groups[group].count = 0;
	pthread_mutex_unlock(&schedule->lock);
}

void jp_schedule_close_group(struct jp_schedule *schedule, unsigned group)
{
	pthread_mutex_lock(&schedule->lock);
	schedule->groups[group].closed = true;
	while (schedule->groups[group].nr_inside)
		pthread_cond_wait(&schedule->changed, &schedule->lock);
	pthread_mutex_unlock(&schedule->lock);
}

void jp_schedule_open_group(struct jp_schedule *schedule, unsigned group)
{
	pthread_mutex_lock(&schedule->lock);
	schedule->groups[group].closed = false;
	pthread_cond_broadcast(&schedule->changed);
	pthread_mutex_unlock(&schedule->lock);
}

/* Returns the group of turn number @round or, if it is closed or has no paths, the next group that
 * is open and has paths. Returns NULL if there is none. */
static struct jp_schedule_group *find_open_group(struct jp_schedule *schedule, size_t round)
{
	for (unsigned i = 0; i < JP_SCHEDULE_GROUPS; i++) {
		struct jp_schedule_group *group =
			&schedule->groups[(round + i) % JP_SCHEDULE_GROUPS];

		if (group->count && !group->closed)
			return group;
	}
	return NULL;
}

/* Makes the thread leave its group and enter the next group. Waits until a group is open. */
static const struct jp_path *choose_next_path(void *context, size_t round)
{
	struct jp_scheduled *thread = context;
	struct jp_schedule *schedule = thread->schedule;
	struct jp_schedule_group *next;
	const struct jp_path *path;

	pthread_mutex_lock(&schedule->lock);
	if (thread->entered) {
		thread->entered->nr_inside--;
		pthread_cond_broadcast(&schedule->changed);
	}
	while (!(next = find_open_group(schedule, round)))
		pthread_cond_wait(&schedule->changed, &schedule->lock);
	next->nr_inside++;
	thread->entered = next;
	path = next->paths[round / JP_SCHEDULE_GROUPS % next->count];
	pthread_mutex_unlock(&schedule->lock);
	return path;
}

int jp_schedule_start_thread(struct jp_schedule *schedule)
{
	struct jp_scheduled *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return -ENOMEM;
	*thread = (struct jp_scheduled){.schedule = schedule, .next = schedule->threads};
	schedule->threads = thread;
	return jp_path_run_thread_by(choose_next_path, thread);
}
