// SPDX-License-Identifier: GPL-2.0-only
/* Joining deferred callchains with samples, by thread and cookie. */
#include "harness/format/perfdata/deferred.h"
#include "harness/selftest/support/check.h"

static struct jp_perf_deferred deferred;

static void add_chain(uint32_t tid, uint64_t cookie, const uint64_t *ips, uint64_t count)
{
	const struct jp_event event = {
		.type = JP_EVENT_DEFERRED, .tid = tid, .deferred = {cookie, count, ips}};

	if (jp_perf_deferred_add(&deferred, &event))
		check(false, "a chain is added");
}

/* Joins a sample of @tid. Returns the first address of its deferred chain, or 0. */
static uint64_t join_sample(uint32_t tid, const uint64_t *chain, uint64_t count, bool *waits,
			    uint64_t *length)
{
	struct jp_event sample = {
		.type = JP_EVENT_SAMPLE, .tid = tid, .sample = {.chain = chain, .nr_chain = count}};

	jp_perf_deferred_join(&deferred, &sample);
	*waits = sample.sample.chain_deferred;
	*length = sample.sample.nr_deferred;
	return sample.sample.deferred ? sample.sample.deferred[0] : 0;
}

static void check_join(const char *label, uint32_t tid, uint64_t cookie, uint64_t first,
		       uint64_t nr)
{
	const uint64_t chain[] = {JP_CONTEXT_KERNEL, 0x77, JP_CONTEXT_USER_DEFERRED, cookie};
	uint64_t length;
	bool waits;

	check(join_sample(tid, chain, 4, &waits, &length) == first && waits && length == nr, "%s",
	      label);
}

TEST(deferred)
{
	static const uint64_t a[] = {1, 2, 3}, b[] = {4}, c[] = {5, 6}, d[] = {7}, e[] = {8};
	const uint64_t user[] = {JP_CONTEXT_USER, JP_CONTEXT_USER_DEFERRED, 100};
	const uint64_t cut[] = {JP_CONTEXT_KERNEL, 100, JP_CONTEXT_USER_DEFERRED};
	const uint64_t bare[] = {JP_CONTEXT_USER_DEFERRED, 100};
	uint64_t length;
	bool waits;

	jp_perf_deferred_sort(&deferred);
	check_join("no chain came", 10, 100, 0, 0);
	add_chain(10, 150, NULL, 0);
	add_chain(10, 200, b, 1);
	add_chain(11, 100, c, 2);
	add_chain(10, 100, a, 3);
	add_chain(10, 100, d, 1);
	add_chain(9, 300, e, 1);
	jp_perf_deferred_sort(&deferred);
	check_join("the first of two equal chains is used", 10, 100, 1, 3);
	check_join("another cookie has its chain", 10, 200, 4, 1);
	check_join("another thread has its chain", 11, 100, 5, 2);
	check_join("the lowest tid has its chain", 9, 300, 8, 1);
	check_join("a cookie of another thread is not found", 9, 100, 0, 0);
	check_join("a tid behind the last has no chain", 12, 1, 0, 0);
	check_join("a cookie between two has no chain", 10, 120, 0, 0);
	check_join("an empty chain is joined", 10, 150, 0, 0);
	check(!join_sample(10, user, 3, &waits, &length) && !waits, "a marker of users is none");
	check(!join_sample(10, cut, 3, &waits, &length) && !waits, "a marker needs a cookie");
	check(join_sample(10, bare, 2, &waits, &length) == 1 && waits, "marker and cookie suffice");
	check(!join_sample(10, bare, 1, &waits, &length) && !waits &&
		      !join_sample(10, bare, 0, &waits, &length),
	      "a chain of a marker alone, or empty, is not");
	jp_perf_deferred_free(&deferred);
	check(!deferred.count && !deferred.chains, "the freed table is empty");
}
