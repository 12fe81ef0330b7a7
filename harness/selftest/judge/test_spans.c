// SPDX-License-Identifier: GPL-2.0-only
/* Tests spans: the times during which executable mappings were unchanged. */
#include "harness/judge/spans.h"

#include "harness/base/order.h"
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 5, OTHER = 6, RX = JP_PROT_READ | JP_PROT_EXEC };

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

enum { PAGE = 0x1000 };

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
	uint64_t min = UINT64_MAX;

	acts[0] = (struct jp_event)MADE_ACT(MAP, PID, PID, 1, 1,
					    MADE_MAP(0x1000, 0x1000, RX, "//anon"));
	for (size_t i = 1; i <= count; i++)
		acts[i] = (struct jp_event)MADE_ACT(
			FORK, (uint32_t)(1000 + i), (uint32_t)(1000 + i), i + 1, i + 1,
			.task = {.ppid = PID, .start_kind = JP_START_SHARE});
	/* Take the least cost: the first run also gets memory from the kernel. */
	for (int i = 0; i < 3; i++) {
		start_cost();
		check(!jp_spans_collect_from_truth(&truth, &spans) && spans.count == count + 1,
		      "each mapping makes a span");
		jp_spans_free(&spans);
		end_cost();
		min = jp_min(min, cost);
	}
	free(acts);
	cost = min;
}

TEST(spans)
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

	if (check(jp_spans_collect_from_truth(&truth, &spans) == 0, "five acts make spans"))
		test_known_spans(&spans);
	jp_spans_free(&spans);
	check_growth("acts", make_spans);
	check_growth("processes that share", make_spans_of_sharers);
}
