// SPDX-License-Identifier: GPL-2.0-only
/* Executable mappings for as long as they were exactly that, of acts made by hand. */
#include "harness/judge/spans.h"
#include "harness/selftest/check.h"
#include "harness/selftest/made_events.h"

enum { PID = 5, OTHER = 6, RX = JP_PROT_READ | JP_PROT_EXEC };

static void list(const struct jp_spans *spans)
{
	const struct jp_span *end, *span = jp_spans_of(spans, PID, &end);

	check(end - span == 2, "one mapping that loses its second half has two spans, %d",
	      (int)(end - span));
	check(span[0].mapping.start == 0x1000 && span[0].mapping.end == 0x3000 &&
		      span[0].open_before == 20 && span[0].open_after == 21 &&
		      span[0].close_before == 30 && span[0].close_after == 33,
	      "the whole of it until then");
	check(span[1].mapping.start == 0x1000 && span[1].mapping.end == 0x2000 &&
		      span[1].open_before == 30 && span[1].open_after == 33 &&
		      span[1].close_before == UINT64_MAX && span[1].close_after == UINT64_MAX,
	      "the first half from then on");
	span = jp_spans_of(spans, OTHER, &end);
	check(end - span == 1 && span->close_before == 40 && span->close_after == UINT64_MAX,
	      "what ends with its process is never stale");
	span = jp_spans_of(spans, 7, &end);
	check(span == end, "nobody else has any");
}

static void told(const struct jp_spans *spans)
{
	check(jp_spans_told(spans, PID, 0x1000, 20, 20) && jp_spans_told(spans, PID, 0x2fff, 0, 20),
	      "told when it opened, from its first byte to its last");
	check(!jp_spans_told(spans, PID, 0xfff, 0, 100) &&
		      !jp_spans_told(spans, PID, 0x3000, 0, 100),
	      "and of nothing beside it");
	check(!jp_spans_told(spans, PID, 0x2000, 0, 19) &&
		      !jp_spans_told(spans, PID, 0x2000, 21, 100),
	      "nor before or after");
	check(!jp_spans_told(spans, PID, 0x8000, 0, 100), "nor of what is not executable");
	check(!jp_spans_told(spans, PID, 0x9000, 0, 100), "nor of what is no act");
}

int main(void)
{
	struct jp_event acts[] = {
		MADE_ACT(MAP, OTHER, OTHER, 10, 11, MADE_MAP(0x1000, 0x1000, RX, "//anon")),
		MADE_ACT(MAP, PID, PID, 20, 21, MADE_MAP(0x1000, 0x2000, RX, "//anon")),
		MADE_ACT(MAP, PID, PID, 25, 26, MADE_MAP(0x8000, 0x1000, JP_PROT_READ, "//anon")),
		MADE_ACT(UNMAP, PID, PID, 30, 33, .map = {.addr = 0x2000, .len = 0x1000}),
		MADE_ACT(END, OTHER, OTHER, 40, 44),
		/* Behind the end: nobody may look here. */
		MADE_ACT(MAP, PID, PID, 50, 51, MADE_MAP(0x9000, 0x1000, RX, "//anon")),
	};
	struct jp_truth truth = {.acts = acts, .nr_acts = sizeof(acts) / sizeof(*acts) - 1};
	struct jp_spans spans;

	if (check(jp_spans_of_truth(&truth, &spans) == 0, "spans of five acts")) {
		list(&spans);
		told(&spans);
	}
	jp_spans_free(&spans);
	return check_done();
}
