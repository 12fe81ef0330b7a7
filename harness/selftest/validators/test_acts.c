// SPDX-License-Identifier: GPL-2.0-only
/* Which acts ended executable memory: those that touch a span of their process that ceased as they
 * began. */
#include "harness/base/clock.h"
#include "harness/judge/validator.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 5, PIDS = 2, TIMES = 4, PAGES = 12, SOME = 40, PAGE = 0x1000 };
enum { RX = JP_PROT_READ | JP_PROT_EXEC };

/* How many of the UNMAPs, PROTECTs and REMAPs of @truth the validator counts. */
static uint64_t counted(struct jp_truth *truth, const struct jp_spans *spans)
{
	const struct jp_validator *acts = jp_registry_find(JP_VALIDATOR, "acts");
	const struct jp_evidence evidence = {.truth = truth};
	struct jp_view view = {.evidence = &evidence, .truth = spans};
	struct jp_error err = {""};
	uint64_t count = 0;

	check(!acts->begin(&view, &err), "acts are judged");
	for (size_t i = 0; i < view.findings.nr_metrics; i++)
		count += view.findings.metrics[i].k;
	jp_findings_free(&view.findings);
	return count;
}

static uint64_t some_page(uint64_t *seed)
{
	return check_random(seed) % PAGES * PAGE;
}

static struct jp_event some_act(uint64_t *seed)
{
	static const enum jp_event_type types[] = {JP_EVENT_MAP, JP_EVENT_UNMAP, JP_EVENT_PROTECT,
						   JP_EVENT_REMAP};
	const uint64_t time = check_random(seed) % TIMES;
	const uint32_t pid = PID + check_random(seed) % PIDS;

	return (struct jp_event){.type = types[check_random(seed) % 4],
				 .pid = pid,
				 .before = time,
				 .after = time,
				 .map = {.addr = some_page(seed),
					 .len = some_page(seed) / 3,
					 .to = some_page(seed),
					 .to_len = some_page(seed) / 3}};
}

/* Spans that overlap, as acts of one time can make them. */
static struct jp_span some_span(uint64_t *seed)
{
	struct jp_span span = {.pid = PID + check_random(seed) % PIDS,
			       .mapping = {.start = some_page(seed)},
			       .close_before = check_random(seed) % TIMES};

	span.mapping.end = span.mapping.start + PAGE + some_page(seed) / 3;
	return span;
}

static bool ended(const struct jp_span *spans, const struct jp_event *act)
{
	for (size_t i = 0; act->type != JP_EVENT_MAP && i < SOME; i++)
		if (spans[i].pid == act->pid && spans[i].close_before == act->before &&
		    jp_event_touches(act, spans[i].mapping.start,
				     spans[i].mapping.end - spans[i].mapping.start))
			return true;
	return false;
}

/* As many as where each act is held against each span. Behind the last one lies another. */
static void whole(uint64_t seed)
{
	struct jp_span list[SOME];
	struct jp_event acts[SOME + 1];
	struct jp_spans spans = {.spans = list, .count = SOME};
	struct jp_truth truth = {.acts = acts, .nr_acts = SOME};
	uint64_t found, expected = 0;

	for (size_t i = 0; i < SOME; i++) {
		list[i] = some_span(&seed);
		acts[i] = some_act(&seed);
	}
	acts[SOME] = (struct jp_event)MADE_ACT(UNMAP, list[0].pid, PID, list[0].close_before,
					       list[0].close_before,
					       .map = {.addr = list[0].mapping.start, .len = PAGE});
	check(!jp_spans_index(&spans), "spans to be searched");
	for (size_t i = 0; i < SOME; i++)
		expected += ended(list, &acts[i]);
	found = counted(&truth, &spans);
	jp_boxes_free(&spans.boxes);
	check(found == expected, "%d acts of %d end something, not %d", (int)expected, SOME,
	      (int)found);
}

static double cost(size_t count)
{
	struct jp_event *acts = calloc(2 * count, sizeof(*acts));
	struct jp_truth truth = {.acts = acts, .nr_acts = 2 * count};
	struct jp_spans spans;
	uint64_t begin, found;
	double spent;

	if (!check(acts != NULL, "memory"))
		return 0;
	for (size_t i = 0; i < count; i++) {
		const uint64_t unmapped = count + i;

		acts[i] = (struct jp_event)MADE_ACT(MAP, PID, PID, i, i,
						    MADE_MAP(2 * i * PAGE, PAGE, RX, "//anon"));
		acts[unmapped] = acts[i];
		acts[unmapped].type = JP_EVENT_UNMAP;
		acts[unmapped].before = acts[unmapped].after = unmapped;
	}
	check(!jp_spans_of_truth(&truth, &spans), "a span of each");
	begin = jp_clock_thread_cpu();
	found = counted(&truth, &spans);
	spent = (double)(jp_clock_thread_cpu() - begin);
	check(found == count, "each is ended");
	jp_spans_free(&spans);
	free(acts);
	return spent;
}

int main(void)
{
	for (uint64_t seed = 1; seed <= 200; seed++)
		whole(seed);
	check_growth("spans", cost);
	return check_done();
}
