// SPDX-License-Identifier: GPL-2.0-only
/* Tests spans: the times during which executable mappings were unchanged. */
#include "harness/judge/spans.h"
#include <stdlib.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 5, OTHER = 6, RX = JP_PROT_READ | JP_PROT_EXEC };

/* Returns the first span of @pid, and stores the end of its spans in *@end. */
static const struct jp_span *find_spans(const struct jp_spans *spans, uint32_t pid,
					const struct jp_span **end)
{
	size_t first, last;

	jp_search(first, spans->count, spans->spans[first].pid < pid);
	jp_search(last, spans->count, spans->spans[last].pid <= pid);
	*end = spans->spans + last;
	return spans->spans + first;
}

static void test_known_spans(const struct jp_spans *spans)
{
	check(jp_spans_has_opened(spans, PID, 0x1000, 20, 20) &&
		      jp_spans_has_opened(spans, PID, 0x2fff, 0, 20),
	      "a span is known when it opened, from first to last byte");
	check(!jp_spans_has_opened(spans, PID, 0xfff, 0, 100) &&
		      !jp_spans_has_opened(spans, PID, 0x3000, 0, 100),
	      "addresses next to it are not known");
	check(!jp_spans_has_opened(spans, PID, 0x2000, 0, 19) &&
		      !jp_spans_has_opened(spans, PID, 0x2000, 21, 100),
	      "it is not known before or after");
	check(!jp_spans_has_opened(spans, PID, 0x8000, 0, 100), "data is not known");
	check(!jp_spans_has_opened(spans, PID, 0x9000, 0, 100),
	      "an act behind the list is not known");
}

enum { ACTS = 400, PAGES = 40, PAGE = 0x1000 };

static uint64_t draw_page(uint64_t *seed)
{
	return (uint64_t)(1 + check_random(seed) % PAGES) * PAGE;
}

/* Draws an act of one of two processes. Mappings of such acts often overlap or adjoin. */
static struct jp_event draw_act(uint64_t *seed, uint64_t time)
{
	static const enum jp_event_type types[] = {JP_EVENT_MAP,     JP_EVENT_MAP,
						   JP_EVENT_MAP,     JP_EVENT_UNMAP,
						   JP_EVENT_PROTECT, JP_EVENT_REMAP};
	static const char *const names[] = {"//anon", "/memfd:jit (deleted)"};
	uint32_t pid = check_random(seed) % 2 ? PID : OTHER;
	struct jp_event act = {.type = types[check_random(seed) % 6],
			       .pid = pid,
			       .tid = pid,
			       .before = time,
			       .after = time};

	if (check_random(seed) % 50 == 0) {
		act.type = check_random(seed) % 2 ? JP_EVENT_FORK : JP_EVENT_EXEC;
		act.task.ppid = act.task.ptid = pid == PID ? OTHER : PID;
		return act;
	}
	act.map.addr = draw_page(seed);
	act.map.len = draw_page(seed) / 4 / PAGE * PAGE + PAGE;
	act.map.to = draw_page(seed);
	act.map.to_len = act.map.len;
	act.map.prot = check_random(seed) % 3 ? RX : JP_PROT_READ;
	act.map.name = names[check_random(seed) % 2];
	return act;
}

/* Returns whether the open spans of @pid at @time are the executable mappings in @space. */
static bool spans_agree(const struct jp_spans *spans, struct jp_replay *space, uint32_t pid,
			uint64_t time)
{
	const struct jp_span *end, *first = find_spans(spans, pid, &end);
	size_t open = 0, found = 0, executable = 0;
	const struct jp_mapping *map;

	for (const struct jp_span *one = first; one < end; one++)
		open += one->open_before <= time && time < one->close_before;
	for (map = jp_replay_find_at_or_above(space, pid, 0); map;
	     map = jp_replay_find_at_or_above(space, pid, map->end)) {
		executable += !!(map->prot & JP_PROT_EXEC);
		for (const struct jp_span *one = first; one < end; one++)
			found += (map->prot & JP_PROT_EXEC) && one->open_before <= time &&
				 time < one->close_before && one->mapping.start == map->start &&
				 one->mapping.end == map->end && one->mapping.pgoff == map->pgoff &&
				 strcmp(one->mapping.name, map->name) == 0;
	}
	return open == executable && found == executable;
}

/* The spans collected from random operations must agree with a replay of the same operations. */
static void test_random_acts(uint64_t seed)
{
	struct jp_event acts[ACTS];
	struct jp_truth truth = {.acts = acts, .nr_acts = ACTS};
	struct jp_replay *space = jp_replay_new();
	struct jp_spans spans;
	size_t bad = 0;

	for (size_t i = 0; i < ACTS; i++)
		acts[i] = draw_act(&seed, i + 1);
	check(space && !jp_spans_collect_from_truth(&truth, &spans) && spans.count > ACTS / 2,
	      "many acts make many spans");
	for (size_t i = 0; i < ACTS; i++)
		bad += jp_replay_apply(space, &acts[i]) ||
		       !spans_agree(&spans, space, PID, i + 1) ||
		       !spans_agree(&spans, space, OTHER, i + 1);
	check(!bad, "after each act the open spans are what is mapped: %zu differ", bad);
	jp_spans_free(&spans);
	jp_replay_free(space);
}

static void make_spans(size_t count)
{
	struct jp_event *acts = allocate(count, sizeof(*acts));
	struct jp_truth truth = {.acts = acts, .nr_acts = count};
	struct jp_spans spans;

	for (uint64_t i = 0; i < count; i++)
		acts[i] = (struct jp_event)MADE_ACT(
			MAP, PID, PID, i + 1, i + 1,
			MADE_MAP((count - i) * 2 * PAGE, PAGE, RX, "//anon"));
	start_cost();
	check(!jp_spans_collect_from_truth(&truth, &spans) && spans.count == count,
	      "each mapping makes a span");
	jp_spans_free(&spans);
	end_cost();
	free(acts);
}

/* All processes share one address space, in which nothing is mapped afterwards. */
static void make_spans_of_sharers(size_t count)
{
	struct jp_event *acts = allocate(count + 1, sizeof(*acts));
	struct jp_truth truth = {.acts = acts, .nr_acts = count + 1};
	struct jp_spans spans;
	uint64_t least = UINT64_MAX;

	acts[0] = (struct jp_event)MADE_ACT(MAP, PID, PID, 1, 1,
					    MADE_MAP(0x1000, 0x1000, RX, "//anon"));
	for (size_t i = 1; i <= count; i++)
		acts[i] = (struct jp_event)MADE_ACT(FORK, (uint32_t)(1000 + i),
						    (uint32_t)(1000 + i), i + 1, i + 1,
						    .task = {.ppid = PID, .how = JP_HOW_SHARE});
	/* Take the least cost: the first run also gets memory from the kernel. */
	for (int i = 0; i < 3; i++) {
		start_cost();
		check(!jp_spans_collect_from_truth(&truth, &spans) && spans.count == count + 1,
		      "each mapping makes a span");
		jp_spans_free(&spans);
		end_cost();
		least = jp_min(least, cost);
	}
	free(acts);
	cost = least;
}

int main(void)
{
	struct jp_event acts[] = {
		MADE_ACT(MAP, OTHER, OTHER, 10, 11, MADE_MAP(0x1000, 0x1000, RX, "//anon")),
		MADE_ACT(MAP, PID, PID, 20, 21, MADE_MAP(0x1000, 0x2000, RX, "//anon")),
		MADE_ACT(MAP, PID, PID, 25, 26, MADE_MAP(0x8000, 0x1000, JP_PROT_READ, "//anon")),
		MADE_ACT(UNMAP, PID, PID, 30, 33, .map = {.addr = 0x2000, .len = 0x1000}),
		MADE_ACT(END, OTHER, OTHER, 40, 44),
		/* An act after the end of the list must not count. */
		MADE_ACT(MAP, PID, PID, 50, 51, MADE_MAP(0x9000, 0x1000, RX, "//anon")),
	};
	struct jp_truth truth = {.acts = acts, .nr_acts = sizeof(acts) / sizeof(*acts) - 1};
	struct jp_spans spans;

	if (check(jp_spans_collect_from_truth(&truth, &spans) == 0, "five acts make spans")) {
		test_known_spans(&spans);
	}
	jp_spans_free(&spans);
	for (uint64_t seed = 1; seed <= 5; seed++)
		test_random_acts(seed);
	check_growth("acts", make_spans);
	check_growth("processes that share", make_spans_of_sharers);
	return check_done();
}
