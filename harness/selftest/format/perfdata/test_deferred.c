// SPDX-License-Identifier: GPL-2.0-only
/* Deferred callchains find the samples of their thread and cookie. */
#include "harness/format/perfdata/deferred.h"
#include "harness/selftest/support/check.h"

static struct jp_perf_deferred deferred;

static void add(uint32_t tid, uint64_t cookie, const uint64_t *ips, uint64_t count)
{
	const struct jp_event event = {
		.type = JP_EVENT_DEFERRED, .tid = tid, .deferred = {cookie, count, ips}};

	if (jp_perf_deferred_add(&deferred, &event))
		check(false, "a chain is taken");
}

/* The user part of a sample of @tid with this chain: its first address, 0: none came. */
static uint64_t join(uint32_t tid, const uint64_t *chain, uint64_t count, bool *waits,
		     uint64_t *length)
{
	struct jp_event sample = {
		.type = JP_EVENT_SAMPLE, .tid = tid, .sample = {.chain = chain, .nr_chain = count}};

	jp_perf_deferred_join(&deferred, &sample);
	*waits = sample.sample.chain_deferred;
	*length = sample.sample.nr_deferred;
	return sample.sample.deferred ? sample.sample.deferred[0] : 0;
}

static void one(const char *what, uint32_t tid, uint64_t cookie, uint64_t first, uint64_t nr)
{
	const uint64_t chain[] = {JP_CONTEXT_KERNEL, 0x77, JP_CONTEXT_USER_DEFERRED, cookie};
	uint64_t length;
	bool waits;

	check(join(tid, chain, 4, &waits, &length) == first && waits && length == nr, "%s", what);
}

int main(void)
{
	static const uint64_t a[] = {1, 2, 3}, b[] = {4}, c[] = {5, 6}, d[] = {7}, e[] = {8};
	const uint64_t user[] = {JP_CONTEXT_USER, JP_CONTEXT_USER_DEFERRED, 100};
	const uint64_t cut[] = {JP_CONTEXT_KERNEL, 100, JP_CONTEXT_USER_DEFERRED};
	const uint64_t bare[] = {JP_CONTEXT_USER_DEFERRED, 100};
	uint64_t length;
	bool waits;

	jp_perf_deferred_sort(&deferred);
	one("none came", 10, 100, 0, 0);
	add(10, 200, b, 1);
	add(11, 100, c, 2);
	add(10, 100, a, 3);
	add(10, 100, d, 1);
	add(10, 150, NULL, 0);
	add(9, 300, e, 1);
	jp_perf_deferred_sort(&deferred);
	one("the first of two alike serves", 10, 100, 1, 3);
	one("another cookie", 10, 200, 4, 1);
	one("another thread", 11, 100, 5, 2);
	one("the first of all", 9, 300, 8, 1);
	one("a thread's cookie is no other's", 9, 100, 0, 0);
	one("behind the last", 12, 1, 0, 0);
	one("between two", 10, 120, 0, 0);
	one("an empty one", 10, 150, 0, 0);
	check(!join(10, user, 3, &waits, &length) && !waits, "a user's address is no marker");
	check(!join(10, cut, 3, &waits, &length) && !waits, "a marker without a cookie is none");
	check(join(10, bare, 2, &waits, &length) == 1 && waits, "a marker alone");
	check(!join(10, bare, 1, &waits, &length) && !waits && !join(10, bare, 0, &waits, &length),
	      "and of nothing");
	jp_perf_deferred_free(&deferred);
	check(!deferred.count && !deferred.chains, "freed");
	return check_done();
}
