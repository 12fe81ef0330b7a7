// SPDX-License-Identifier: GPL-2.0-only
/* Tests acts that ended executable memory: those that touch a span of their process that ended when
 * the act began. */
#include "harness/judge/validator.h"
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 5, PIDS = 2, TIMES = 4, PAGES = 12, SOME = 40, PAGE = 0x1000 };
enum { RX = JP_PROT_READ | JP_PROT_EXEC };

/* Returns the validator's count of UNMAPs, PROTECTs and REMAPs that ended executable memory. */
static uint64_t count_acts(struct jp_truth *truth, const struct jp_spans *spans)
{
	const struct jp_validator *acts = jp_registry_find(JP_VALIDATOR, "acts");
	const struct jp_evidence evidence = {.truth = truth};
	struct jp_view view = {.evidence = &evidence, .truth = spans};
	struct jp_error err = {""};
	uint64_t count = 0;

	check(!acts->begin(&view, &err), "the validator begins");
	for (size_t i = 0; i < view.findings.nr_metrics; i++)
		count += view.findings.metrics[i].k;
	jp_findings_free(&view.findings);
	return count;
}

static uint64_t draw_page(uint64_t *seed)
{
	return check_random(seed) % PAGES * PAGE;
}

static struct jp_event draw_act(uint64_t *seed)
{
	static const enum jp_event_type types[] = {JP_EVENT_MAP, JP_EVENT_UNMAP, JP_EVENT_PROTECT,
						   JP_EVENT_REMAP};
	const uint64_t time = check_random(seed) % TIMES;
	const uint32_t pid = PID + check_random(seed) % PIDS;

	return (struct jp_event){.type = types[check_random(seed) % 4],
				 .pid = pid,
				 .before = time,
				 .after = time,
				 .map = {.addr = draw_page(seed),
					 .len = draw_page(seed) / 3,
					 .new_addr = draw_page(seed),
					 .new_len = draw_page(seed) / 3}};
}

/* Draws a span; spans may overlap, since several acts can have the same time. */
static struct jp_span draw_span(uint64_t *seed)
{
	struct jp_span span = {.pid = PID + check_random(seed) % PIDS,
			       .mapping = {.start = draw_page(seed)},
			       .close_before = check_random(seed) % TIMES};

	span.mapping.end = span.mapping.start + PAGE + draw_page(seed) / 3;
	return span;
}

static bool ends_a_span(const struct jp_span *spans, const struct jp_event *act)
{
	for (size_t i = 0; act->type != JP_EVENT_MAP && i < SOME; i++)
		if (spans[i].pid == act->pid && spans[i].close_before == act->before &&
		    jp_event_touches(act, spans[i].mapping.start,
				     spans[i].mapping.end - spans[i].mapping.start))
			return true;
	return false;
}

/* Compares the validator's count with a scan of all spans. The array has one act more than the
 * truth, which must not count. */
static void test_random_acts(uint64_t seed)
{
	struct jp_span list[SOME];
	struct jp_event acts[SOME + 1];
	struct jp_spans spans = {.spans = list, .count = SOME};
	struct jp_truth truth = {.acts = acts, .nr_acts = SOME};
	uint64_t nr_acts, expected = 0;

	for (size_t i = 0; i < SOME; i++) {
		list[i] = draw_span(&seed);
		acts[i] = draw_act(&seed);
	}
	acts[SOME] = (struct jp_event)MADE_ACT(UNMAP, list[0].pid, PID, list[0].close_before,
					       list[0].close_before,
					       .map = {.addr = list[0].mapping.start, .len = PAGE});
	check(!jp_spans_index(&spans), "spans are indexed");
	for (size_t i = 0; i < SOME; i++)
		expected += ends_a_span(list, &acts[i]);
	nr_acts = count_acts(&truth, &spans);
	jp_boxes_free(&spans.boxes);
	check(nr_acts == expected, "%d of %d acts end one, not %d", (int)expected, SOME,
	      (int)nr_acts);
}

static void end_spans(size_t count)
{
	struct jp_event *acts = allocate(2 * count, sizeof(*acts));
	struct jp_truth truth = {.acts = acts, .nr_acts = 2 * count};
	struct jp_spans spans;
	uint64_t nr_acts;

	for (size_t i = 0; i < count; i++) {
		const uint64_t unmapped = count + i;

		acts[i] = (struct jp_event)MADE_ACT(MAP, PID, PID, i, i,
						    MADE_MAP(2 * i * PAGE, PAGE, RX, "//anon"));
		acts[unmapped] = acts[i];
		acts[unmapped].type = JP_EVENT_UNMAP;
		acts[unmapped].before = acts[unmapped].after = unmapped;
	}
	check(!jp_spans_collect_from_truth(&truth, &spans), "each mapping makes a span");
	start_cost();
	nr_acts = count_acts(&truth, &spans);
	end_cost();
	check(nr_acts == count, "each span is ended by an act");
	jp_spans_free(&spans);
	free(acts);
}

TEST(acts)
{
	for (uint64_t seed = 1; seed <= 200; seed++)
		test_random_acts(seed);
	check_growth("spans", end_spans);
}
