// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void jp_rota_open(struct jp_rota *rota)
{
	memset(rota, 0, sizeof(*rota));
	pthread_mutex_init(&rota->lock, NULL);
	pthread_cond_init(&rota->changed, NULL);
}

void jp_rota_free(struct jp_rota *rota)
{
	for (unsigned i = 0; i < JP_ROTA_WINGS; i++)
		free(rota->wings[i].paths);
	pthread_mutex_destroy(&rota->lock);
	pthread_cond_destroy(&rota->changed);
}

int jp_rota_add(struct jp_rota *rota, unsigned wing, const struct jp_path *paths, size_t count)
{
	struct jp_rota_wing *to = &rota->wings[wing];
	const struct jp_path **bigger;

	pthread_mutex_lock(&rota->lock);
	bigger = realloc(to->paths, (to->count + count) * sizeof(*bigger));
	if (bigger) {
		to->paths = bigger;
		for (size_t i = 0; i < count; i++)
			to->paths[to->count++] = &paths[i];
	}
	pthread_cond_broadcast(&rota->changed);
	pthread_mutex_unlock(&rota->lock);
	return bigger ? 0 : -ENOMEM;
}

void jp_rota_clear(struct jp_rota *rota, unsigned wing)
{
	pthread_mutex_lock(&rota->lock);
	rota->wings[wing].count = 0;
	pthread_mutex_unlock(&rota->lock);
}

void jp_rota_close_wing(struct jp_rota *rota, unsigned wing)
{
	pthread_mutex_lock(&rota->lock);
	rota->wings[wing].closed = true;
	while (rota->wings[wing].inside)
		pthread_cond_wait(&rota->changed, &rota->lock);
	pthread_mutex_unlock(&rota->lock);
}

void jp_rota_open_wing(struct jp_rota *rota, unsigned wing)
{
	pthread_mutex_lock(&rota->lock);
	rota->wings[wing].closed = false;
	pthread_cond_broadcast(&rota->changed);
	pthread_mutex_unlock(&rota->lock);
}

/* The wing whose turn it is, or the next one that lets threads in; NULL: none does. */
static struct jp_rota_wing *open_wing(struct jp_rota *rota, size_t turn)
{
	for (unsigned i = 0; i < JP_ROTA_WINGS; i++) {
		struct jp_rota_wing *wing = &rota->wings[(turn + i) % JP_ROTA_WINGS];

		if (wing->count && !wing->closed)
			return wing;
	}
	return NULL;
}

/* Leaves the wing that the thread is in, and goes to the next. */
static const struct jp_path *next(void *context, size_t turn)
{
	static __thread struct jp_rota_wing *in;
	struct jp_rota *rota = context;
	const struct jp_path *path;

	pthread_mutex_lock(&rota->lock);
	if (in) {
		in->inside--;
		pthread_cond_broadcast(&rota->changed);
	}
	while (!(in = open_wing(rota, turn)))
		pthread_cond_wait(&rota->changed, &rota->lock);
	in->inside++;
	path = in->paths[turn / JP_ROTA_WINGS % in->count];
	pthread_mutex_unlock(&rota->lock);
	return path;
}

int jp_rota_thread(struct jp_rota *rota)
{
	return jp_path_thread_by(next, rota);
}
