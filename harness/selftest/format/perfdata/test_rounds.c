// SPDX-License-Identifier: GPL-2.0-only
/* Tests that rounds deliver records in order of time, equal times in file order, and none too
 * early. */
#include "harness/base/sort.h"
#include "harness/format/perfdata/rounds.h"
#include "harness/selftest/support/check.h"

enum { MOST = 400, TRIES = 300 };

struct delivered {
	struct jp_pending all[MOST];
	size_t count, stop_at;
};

static int deliver(void *context, const struct jp_pending *pending)
{
	struct delivered *delivered = context;

	delivered->all[delivered->count++] = *pending;
	return delivered->count == delivered->stop_at ? -EIO : 0;
}

JP_ORDER(compare_times, struct jp_pending,
	 a->time != b->time ? (a->time > b->time) - (a->time < b->time)
			    : (a->at > b->at) - (a->at < b->at));

static bool records_equal(const struct jp_pending *a, const struct jp_pending *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (a[i].time != b[i].time || a[i].at != b[i].at)
			return false;
	return true;
}

/* Merges rings of ascending times, some equal, drained in rounds. */
static void check_merge(uint64_t *state)
{
	struct delivered delivered = {.count = 0};
	struct jp_perf_rounds rounds = {.deliver = deliver, .context = &delivered};
	struct jp_pending all[MOST];
	size_t nr_rounds = 1 + check_random(state) % 5, count = 0, wrong = 0;
	uint64_t before_last = 0, last = 0;

	for (size_t round = 0; round < nr_rounds; round++) {
		size_t nr_rings = 1 + check_random(state) % 5;
		uint64_t newest = last;

		for (size_t ring = 0; ring < nr_rings; ring++) {
			/* The time is later than the newest record two rounds before. */
			uint64_t time = before_last + 1;

			for (size_t i = check_random(state) % 12; i; i--) {
				time += check_random(state) % 3;
				all[count] = (struct jp_pending){.time = time, .at = count};
				wrong += jp_rounds_add(&rounds, &all[count++]) != 0;
				newest = newest < time ? time : newest;
			}
		}
		wrong += jp_rounds_finish(&rounds) != 0;
		if (delivered.count && delivered.all[delivered.count - 1].time > last)
			wrong++; /* a record of this round is too early */
		if (count) {
			before_last = last;
			last = newest;
		}
		wrong += jp_rounds_oldest(&rounds, MOST) >
			 (delivered.count < count ? count - 1 : (size_t)MOST);
	}
	wrong += jp_rounds_end(&rounds) != 0;
	jp_sort(all, count, compare_times);
	if (wrong || delivered.count != count || !records_equal(all, delivered.all, count))
		check(false, "%zu of %zu records came, %zu wrong", delivered.count, count, wrong);
	jp_rounds_free(&rounds);
}

static void add_record(struct jp_perf_rounds *rounds, uint64_t time, uint64_t at)
{
	jp_rounds_add(rounds, &(struct jp_pending){.time = time, .at = at});
}

static void test_due_records(void)
{
	struct delivered delivered = {.count = 0};
	struct jp_perf_rounds rounds = {.deliver = deliver, .context = &delivered};

	check(!jp_rounds_finish(&rounds) && !jp_rounds_end(&rounds) && !delivered.count,
	      "without records nothing is delivered");
	check(jp_rounds_oldest(&rounds, 5) == 5, "without records no part of the file is needed");
	add_record(&rounds, 10, 1);
	add_record(&rounds, 20, 2);
	jp_rounds_finish(&rounds);
	check(delivered.count == 0, "the first round is not delivered at once");
	check(jp_rounds_oldest(&rounds, 5) == 1, "its first record is still needed");
	add_record(&rounds, 20, 3);
	add_record(&rounds, 21, 4);
	add_record(&rounds, 5, 5);
	check(!rounds.behind, "before any delivery no record is late");
	jp_rounds_finish(&rounds);
	check(delivered.count == 4 && delivered.all[0].at == 5 && delivered.all[2].at == 2 &&
		      delivered.all[3].at == 3,
	      "records up to the round before are delivered, equal times in file order");
	add_record(&rounds, 20, 6);
	check(!rounds.behind, "a record as new as the last delivered is not late");
	add_record(&rounds, 19, 7);
	check(rounds.behind == 1, "an older record is late");
	check(!jp_rounds_end(&rounds) && delivered.count == 7 && delivered.all[4].at == 7,
	      "the end delivers all");
	jp_rounds_free(&rounds);
}

static void test_delivery_stops(void)
{
	struct delivered delivered = {.stop_at = 2};
	struct jp_perf_rounds rounds = {.deliver = deliver, .context = &delivered};

	for (uint64_t i = 1; i < 5; i++)
		add_record(&rounds, i, i);
	jp_rounds_finish(&rounds);
	add_record(&rounds, 9, 9);
	check(jp_rounds_finish(&rounds) == -EIO && delivered.count == 2, "an error ends a round");
	jp_rounds_free(&rounds);
	delivered = (struct delivered){.stop_at = 1};
	rounds = (struct jp_perf_rounds){.deliver = deliver, .context = &delivered};
	add_record(&rounds, 1, 1);
	check(jp_rounds_end(&rounds) == -EIO, "an error of the receiver ends the last delivery");
	jp_rounds_free(&rounds);
}

int main(void)
{
	uint64_t state = 1;

	for (size_t i = 0; i < TRIES; i++)
		check_merge(&state);
	check(state != 1, "%d random files are delivered in order", TRIES);
	test_due_records();
	test_delivery_stops();
	return check_done();
}
