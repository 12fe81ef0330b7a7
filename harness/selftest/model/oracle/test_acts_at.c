// SPDX-License-Identifier: GPL-2.0-only
/* Which act of a truth came last at an address, of acts made at random. */
#include "harness/model/oracle/acts_at.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 5, PIDS = 3, PAGES = 9, SOME = 30, PAGE = 0x1000 };

static uint64_t some_page(uint64_t *seed)
{
	return check_random(seed) % PAGES * PAGE;
}

static uint32_t some_pid(uint64_t *seed)
{
	return PID + check_random(seed) % PIDS;
}

static struct jp_event some_act(uint64_t *seed, uint64_t time)
{
	static const enum jp_event_type types[] = {JP_EVENT_MAP, JP_EVENT_UNMAP, JP_EVENT_PROTECT,
						   JP_EVENT_REMAP, JP_EVENT_FORK};
	struct jp_event act = {.type = types[check_random(seed) % 5],
			       .pid = some_pid(seed),
			       .before = time,
			       .after = time};

	if (act.type == JP_EVENT_FORK) {
		act.task.ppid = some_pid(seed);
		act.task.how = check_random(seed) % 2 ? JP_HOW_SHARE : JP_HOW_FORK;
		return act;
	}
	act.map.addr = some_page(seed);
	act.map.len = PAGE + some_page(seed);
	act.map.to = some_page(seed);
	act.map.to_len = some_page(seed); /* may be nothing */
	return act;
}

/* As the header says it, asked of each act. */
static const struct jp_event *last_of(const struct jp_acts_at *at, uint32_t pid, uint64_t ip,
				      uint64_t time)
{
	const struct jp_event *last = NULL;

	for (size_t i = 0; i < at->nr_acts; i++) {
		const struct jp_event *act = &at->acts[i];

		if (act->pid != pid || act->before > time)
			continue;
		if (act->type == JP_EVENT_REMAP
			    ? ip - act->map.to < act->map.to_len
			    : (act->type == JP_EVENT_MAP || act->type == JP_EVENT_PROTECT) &&
				      ip - act->map.addr < act->map.len)
			last = act;
	}
	return last;
}

static uint32_t sharer_of(const struct jp_acts_at *at, uint32_t pid, uint64_t ip, uint64_t time)
{
	for (size_t i = 0; i < at->nr_acts; i++) {
		const struct jp_event *act = &at->acts[i];
		uint32_t other = act->pid == pid ? act->task.ppid : act->pid;

		if (act->type == JP_EVENT_FORK && act->task.how == JP_HOW_SHARE &&
		    (act->pid == pid || act->task.ppid == pid) && act->before <= time &&
		    last_of(at, other, ip, time))
			return other;
	}
	return 0;
}

static void whole(uint64_t seed)
{
	size_t bad_acts = 0, bad_sharers = 0, count = check_random(&seed) % SOME;
	struct jp_event acts[SOME];
	struct jp_acts_at at;

	/* Two at a time. */
	for (size_t i = 0; i < count; i++)
		acts[i] = some_act(&seed, 1 + i / 2);
	check(!jp_acts_at_index(&at, acts, count), "memory");
	for (uint32_t pid = PID - 1; pid <= PID + PIDS; pid++) {
		for (uint64_t time = 0; time <= 2 + count / 2; time++) {
			for (uint64_t ip = 0; ip <= 2 * PAGES * PAGE; ip += PAGE / 2 - 1) {
				bad_acts += jp_acts_at_last(&at, pid, ip, time) !=
					    last_of(&at, pid, ip, time);
				bad_sharers += jp_acts_at_sharer(&at, pid, ip, time) !=
					       sharer_of(&at, pid, ip, time);
			}
		}
	}
	check(!bad_acts && !bad_sharers, "of %zu acts %zu are not the last, and %zu do not share",
	      count, bad_acts, bad_sharers);
	jp_acts_at_free(&at);
}

/* All of memory, and then page by page, each asked of as often. */
static void find_each(size_t count)
{
	struct jp_event *acts = allocate(count, sizeof(*acts));
	struct jp_acts_at at;
	size_t bad = 0;

	acts[0] = (struct jp_event)MADE_ACT(MAP, PID, PID, 0, 0, MADE_MAP(0, 1 << 30, 0, "//anon"));
	for (uint64_t i = 1; i < count; i++)
		acts[i] = (struct jp_event)MADE_ACT(PROTECT, PID, PID, i, i,
						    .map = {.addr = 2 * i * PAGE, .len = PAGE});
	start_cost();
	check(!jp_acts_at_index(&at, acts, count), "memory");
	for (size_t i = 1; i < count; i++)
		bad += jp_acts_at_last(&at, PID, 2 * i * PAGE, count) != &acts[i] ||
		       jp_acts_at_last(&at, PID, 2 * i * PAGE + PAGE, count) != &acts[0];
	end_cost();
	check(!bad, "each is the last where it is, and the first beside it");
	jp_acts_at_free(&at);
	free(acts);
}

int main(void)
{
	for (uint64_t seed = 1; seed <= 100; seed++)
		whole(seed);
	check_growth("acts", find_each);
	return check_done();
}
