// SPDX-License-Identifier: GPL-2.0-only
/* Rounds: records come in the order of time, equal ones in the file's, none before it is due. */
#include "harness/format/perfdata/rounds.h"
#include "harness/selftest/support/check.h"

enum { MOST = 400, TRIES = 300 };

struct given {
	struct jp_pending all[MOST];
	size_t count, stop_at;
};

static int deliver(void *context, const struct jp_pending *pending)
{
	struct given *given = context;

	given->all[given->count++] = *pending;
	return given->count == given->stop_at ? -EIO : 0;
}

static int by_time(const void *left, const void *right)
{
	const struct jp_pending *a = left, *b = right;

	return a->time != b->time ? (a->time > b->time) - (a->time < b->time)
				  : (a->at > b->at) - (a->at < b->at);
}

static bool same(const struct jp_pending *a, const struct jp_pending *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (a[i].time != b[i].time || a[i].at != b[i].at)
			return false;
	return true;
}

/* Rings of ascending times, some of them equal, drained in rounds. */
static void merge(uint64_t *state)
{
	struct given given = {.count = 0};
	struct jp_perf_rounds rounds = {.deliver = deliver, .context = &given};
	struct jp_pending all[MOST];
	size_t nr_rounds = 1 + check_random(state) % 5, count = 0, wrong = 0;
	uint64_t before_last = 0, last = 0;

	for (size_t round = 0; round < nr_rounds; round++) {
		size_t nr_rings = 1 + check_random(state) % 5;
		uint64_t newest = last;

		for (size_t ring = 0; ring < nr_rings; ring++) {
			/* Not older than the newest of the round before. */
			uint64_t time = before_last + 1;

			for (size_t i = check_random(state) % 12; i; i--) {
				time += check_random(state) % 3;
				all[count] = (struct jp_pending){.time = time, .at = count};
				wrong += jp_rounds_add(&rounds, &all[count++]) != 0;
				newest = newest < time ? time : newest;
			}
		}
		wrong += jp_rounds_finish(&rounds) != 0;
		if (given.count && given.all[given.count - 1].time > last)
			wrong++; /* of this round itself */
		if (count) {
			before_last = last;
			last = newest;
		}
		wrong += jp_rounds_oldest(&rounds, MOST) >
			 (given.count < count ? count - 1 : (size_t)MOST);
	}
	wrong += jp_rounds_end(&rounds) != 0;
	qsort(all, count, sizeof(*all), by_time);
	if (wrong || given.count != count || !same(all, given.all, count))
		check(false, "%zu of %zu records, %zu wrong", given.count, count, wrong);
	jp_rounds_free(&rounds);
}

static void put(struct jp_perf_rounds *rounds, uint64_t time, uint64_t at)
{
	jp_rounds_add(rounds, &(struct jp_pending){.time = time, .at = at});
}

/* What is due when: of the round before, and not more. */
static void due(void)
{
	struct given given = {.count = 0};
	struct jp_perf_rounds rounds = {.deliver = deliver, .context = &given};

	check(!jp_rounds_finish(&rounds) && !jp_rounds_end(&rounds) && !given.count,
	      "without records nothing happens");
	check(jp_rounds_oldest(&rounds, 5) == 5, "nothing of the file is needed");
	put(&rounds, 10, 1);
	put(&rounds, 20, 2);
	jp_rounds_finish(&rounds);
	check(given.count == 0, "the first round waits for the next");
	check(jp_rounds_oldest(&rounds, 5) == 1, "its first record is needed");
	put(&rounds, 20, 3);
	put(&rounds, 21, 4);
	put(&rounds, 5, 5);
	check(!rounds.behind, "nothing was given out, so nothing is behind");
	jp_rounds_finish(&rounds);
	check(given.count == 4 && given.all[0].at == 5 && given.all[2].at == 2 &&
		      given.all[3].at == 3,
	      "all up to the round before, equal times in the file's order");
	put(&rounds, 20, 6);
	check(!rounds.behind, "as new as the last that was given out is not behind");
	put(&rounds, 19, 7);
	check(rounds.behind == 1, "what is older is");
	check(!jp_rounds_end(&rounds) && given.count == 7 && given.all[4].at == 7,
	      "the end gives out all");
	jp_rounds_free(&rounds);
}

static void stops(void)
{
	struct given given = {.stop_at = 2};
	struct jp_perf_rounds rounds = {.deliver = deliver, .context = &given};

	for (uint64_t i = 1; i < 5; i++)
		put(&rounds, i, i);
	jp_rounds_finish(&rounds);
	put(&rounds, 9, 9);
	check(jp_rounds_finish(&rounds) == -EIO && given.count == 2,
	      "what stops it is told at the end of a round");
	jp_rounds_free(&rounds);
	given = (struct given){.stop_at = 1};
	rounds = (struct jp_perf_rounds){.deliver = deliver, .context = &given};
	put(&rounds, 1, 1);
	check(jp_rounds_end(&rounds) == -EIO, "and at the end of all");
	jp_rounds_free(&rounds);
}

int main(void)
{
	uint64_t state = 1;

	for (size_t i = 0; i < TRIES; i++)
		merge(&state);
	check(state != 1, "%d files of rings and rounds are in order", TRIES);
	due();
	stops();
	return check_done();
}
