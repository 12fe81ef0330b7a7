// SPDX-License-Identifier: GPL-2.0-only
/* Finding the last act of a truth at an address, among random acts. */
#include "harness/model/oracle/acts_at.h"
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 5, PIDS = 3, PAGES = 9, SOME = 30, PAGE = 0x1000 };

static uint64_t draw_page(uint64_t *seed)
{
	return check_random(seed) % PAGES * PAGE;
}

static uint32_t draw_pid(uint64_t *seed)
{
	return PID + check_random(seed) % PIDS;
}

static struct jp_event draw_act(uint64_t *seed, uint64_t time)
{
	static const enum jp_event_type types[] = {JP_EVENT_MAP, JP_EVENT_UNMAP, JP_EVENT_PROTECT,
						   JP_EVENT_REMAP, JP_EVENT_FORK};
	struct jp_event act = {.type = types[check_random(seed) % 5],
			       .pid = draw_pid(seed),
			       .before = time,
			       .after = time};

	if (act.type == JP_EVENT_FORK) {
		act.task.ppid = draw_pid(seed);
		act.task.start_kind = check_random(seed) % 2 ? JP_START_SHARE : JP_START_FORK;
		return act;
	}
	act.map.addr = draw_page(seed);
	act.map.len = PAGE + draw_page(seed);
	act.map.new_addr = draw_page(seed);
	act.map.new_len = draw_page(seed); /* length, which may be 0 */
	return act;
}

/* Finds the last act as the header defines it, by a scan of all acts. */
static const struct jp_event *scan_for_last(const struct jp_acts_at *index, uint32_t pid,
					    uint64_t ip, uint64_t time)
{
	const struct jp_event *last = NULL;

	for (size_t i = 0; i < index->nr_acts; i++) {
		const struct jp_event *act = &index->acts[i];

		if (act->pid != pid || act->before > time)
			continue;
		if (act->type == JP_EVENT_REMAP
			    ? ip - act->map.new_addr < act->map.new_len
			    : (act->type == JP_EVENT_MAP || act->type == JP_EVENT_PROTECT) &&
				      ip - act->map.addr < act->map.len)
			last = act;
	}
	return last;
}

static uint32_t scan_for_sharer(const struct jp_acts_at *index, uint32_t pid, uint64_t ip,
				uint64_t time)
{
	for (size_t i = 0; i < index->nr_acts; i++) {
		const struct jp_event *act = &index->acts[i];
		uint32_t sharer = act->pid == pid ? act->task.ppid : act->pid;

		if (act->type == JP_EVENT_FORK && act->task.start_kind == JP_START_SHARE &&
		    (act->pid == pid || act->task.ppid == pid) && act->before <= time &&
		    scan_for_last(index, sharer, ip, time))
			return sharer;
	}
	return 0;
}

static void test_random_acts(uint64_t seed)
{
	size_t bad_acts = 0, bad_sharers = 0, count = check_random(&seed) % SOME;
	struct jp_event acts[SOME];
	struct jp_acts_at index;

	/* Adds two acts at each time. */
	for (size_t i = 0; i < count; i++)
		acts[i] = draw_act(&seed, 1 + i / 2);
	check(!jp_acts_at_index(&index, acts, count), "acts are indexed");
	for (uint32_t pid = PID - 1; pid <= PID + PIDS; pid++) {
		for (uint64_t time = 0; time <= 2 + count / 2; time++) {
			for (uint64_t ip = 0; ip <= 2 * PAGES * PAGE; ip += PAGE / 2 - 1) {
				bad_acts += jp_acts_at_find_last(&index, pid, ip, time) !=
					    scan_for_last(&index, pid, ip, time);
				bad_sharers += jp_acts_at_find_sharer(&index, pid, ip, time) !=
					       scan_for_sharer(&index, pid, ip, time);
			}
		}
	}
	check(!bad_acts && !bad_sharers, "of %zu acts %zu last ones and %zu sharers are wrong",
	      count, bad_acts, bad_sharers);
	jp_acts_at_free(&index);
}

/* Adds one act on all memory and one per page, and queries each page once. */
static void find_each_act(size_t count)
{
	struct jp_event *acts = allocate(count, sizeof(*acts));
	struct jp_acts_at index;
	size_t bad = 0;

	acts[0] = (struct jp_event)MADE_ACT(MAP, PID, PID, 0, 0, MADE_MAP(0, 1 << 30, 0, "//anon"));
	for (uint64_t i = 1; i < count; i++)
		acts[i] = (struct jp_event)MADE_ACT(PROTECT, PID, PID, i, i,
						    .map = {.addr = 2 * i * PAGE, .len = PAGE});
	start_cost();
	check(!jp_acts_at_index(&index, acts, count), "acts are indexed");
	for (size_t i = 1; i < count; i++)
		bad += jp_acts_at_find_last(&index, PID, 2 * i * PAGE, count) != &acts[i] ||
		       jp_acts_at_find_last(&index, PID, 2 * i * PAGE + PAGE, count) != &acts[0];
	end_cost();
	check(!bad, "each act is the last on its page, and the first elsewhere");
	jp_acts_at_free(&index);
	free(acts);
}

TEST(acts_at)
{
	for (uint64_t seed = 1; seed <= 100; seed++)
		test_random_acts(seed);
	check_growth("acts", find_each_act);
}
