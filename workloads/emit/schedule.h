/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_WORKLOADS_ROTA_H
#define JP_WORKLOADS_ROTA_H

#include <pthread.h>
#include <stdbool.h>

#include "workloads/emit/path.h"

/*
 * The paths that threads run in turn, while more are added, and while all threads are kept out of
 * some. They lie in wings: a closed wing is one that no thread is in. Who closes every wing has all
 * threads at a safepoint.
 */
enum { JP_ROTA_WINGS = 2 };
struct jp_rota {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct jp_rota_wing {
		const struct jp_path **paths;
		size_t count;
		unsigned inside;
		bool closed;
	} wings[JP_ROTA_WINGS];
};

void jp_rota_open(struct jp_rota *rota);
void jp_rota_free(struct jp_rota *rota);
/* More paths for @wing; they must live as long as they are in it. 0 or -ENOMEM. */
int jp_rota_add(struct jp_rota *rota, unsigned wing, const struct jp_path *paths, size_t count);
/* Forgets the paths of a closed wing. */
void jp_rota_clear(struct jp_rota *rota, unsigned wing);
/* Returns once no thread is in @wing; none comes in until it is opened again. */
void jp_rota_close_wing(struct jp_rota *rota, unsigned wing);
void jp_rota_open_wing(struct jp_rota *rota, unsigned wing);
/* A thread that runs what is on it, as jp_path_thread(). */
int jp_rota_thread(struct jp_rota *rota);

#endif
