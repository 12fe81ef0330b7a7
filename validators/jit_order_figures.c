// SPDX-License-Identifier: GPL-2.0-only
/* Metrics of names and loads. */
#include <stdio.h>
#include <string.h>

#include "validators/jit_order_figures.h"

static const struct jp_role named_samples = {
	.bound = JP_LEAST_N,
	.lead = "names were judged of ",
	.tail = " samples",
	.column = "right",
};
static const struct jp_role wrong_samples = {.column = "wrong"};
static const struct jp_role unjudged_samples = {.bound = JP_MOST_UNJUDGED};

/* Adds the shares of right, wrong and unnamed samples of one file. @judged: role of the right
 * names. */
static void add_names(struct jp_findings *findings, const struct jp_order_side *side,
		      const char *suffix, const struct jp_role *judged)
{
	for (int named = JP_NAME_WRONG; named < JP_NAMES; named++) {
		const struct jp_role *role = named == JP_NAME_RIGHT               ? judged
					     : named == JP_NAME_WRONG && !*suffix ? &wrong_samples
										  : NULL;
		char name[48];

		snprintf(name, sizeof(name), "names.%s%s", jp_named_text[named], suffix);
		jp_findings_add_as(findings, role,
				   jp_metric_rate(name, side->named[named], side->samples.count));
	}
}

/* Adds the share of judged loads with an exception of @kind. */
static void add_failed(struct jp_jit_order *order, const char *kind)
{
	uint64_t count = 0;

	for (size_t i = 0; i < order->findings->nr_exceptions; i++)
		if (strcmp(order->findings->exceptions[i].kind, kind) == 0)
			count += order->findings->exceptions[i].count;
	jp_findings_add_rate(order->findings, kind, count, order->load_judged);
}

void jp_jit_order_figures(struct jp_jit_order *order, const struct jp_names_change *change)
{
	struct jp_findings *findings = order->findings;
	const struct jp_order_side *side = order->side;
	uint64_t twice = 0;

	for (size_t i = 0; i < order->incarnations.count; i++) {
		order->load_right += order->state[i].begun && !order->state[i].failed;
		twice += order->state[i].elf && order->state[i].map;
	}
	add_names(findings, side, "", &named_samples);
	jp_findings_add_as(findings, &unjudged_samples,
			   jp_metric_rate("names.unjudged", side->unjudged,
					  side->unjudged + side->samples.count));
	jp_findings_add_rate(findings, "names.elf", side->elf, side->samples.count);
	jp_findings_add_rate(findings, "names.map", side->map, side->samples.count);
	jp_findings_add_count(findings, "names.twice", twice);
	jp_findings_add_as(findings, &jp_counts_some,
			   jp_metric_rate("load.right", order->load_right, order->load_judged));
	add_failed(order, "load.wrong");
	add_failed(order, "load.unnamed");
	jp_findings_add_count(findings, "order.loads", order->incarnations.loads);
	jp_findings_add_rate(findings, "order.hidden", side->hidden, order->incarnations.loads);
	jp_findings_add_count(findings, "order.stray",
			      order->incarnations.stray.count +
				      order->incarnations.misplaced.count);
	jp_findings_add_count(findings, "anon.before", order->before.anon);
	if (side != &order->after)
		return;
	jp_findings_add_count(findings, "anon.after", order->after.anon);
	jp_findings_add_rate(findings, "order.hidden.before", order->before.hidden,
			     order->incarnations.loads);
	add_names(findings, &order->before, ".before", NULL);
	jp_findings_add_rate(findings, "names.covered", change->covered_bad, change->covered);
	jp_findings_add_as(findings, &jp_counts_some,
			   jp_metric_rate("inject.better", change->better, change->both));
	jp_findings_add_rate(findings, "inject.worse", change->worse, change->both);
	jp_findings_add_count(findings, "inject.lost", change->lost);
	jp_findings_add_rate(findings, "inject.stray", order->misplaced, order->injected);
}
