// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/blame.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/sort.h"

/* Returns the slot for the blame of @cause in @file of @pid. The slot contains NULL if there is no
 * such blame yet. Returns NULL if out of memory. */
static struct jp_blame **find_slot(struct jp_blames *blames, const struct jp_cause *cause,
				   uint32_t pid, const char *file)
{
	char key[4400];
	struct jp_text *text;

	snprintf(key, sizeof(key), "%s %u %s", cause->id, pid, file ? file : "");
	text = jp_text_keep(&blames->texts, key, strlen(key));
	return text ? jp_map_at(&blames->at, text->number, sizeof(struct jp_blame *)) : NULL;
}

static const char *intern_text(struct jp_blames *blames, const char *text)
{
	struct jp_text *kept = jp_text_keep(&blames->texts, text, strlen(text));

	return kept ? kept->bytes : NULL;
}

static struct jp_blame *add_blame(struct jp_blames *blames, const struct jp_cause *cause,
				  uint32_t pid, const char *process, const char *file)
{
	const char *kept_process = intern_text(blames, process),
		   *kept_file = file ? intern_text(blames, file) : "";
	struct jp_blame *blame = calloc(1, sizeof(*blame)), **added;

	added = jp_array_push(&blames->list, &blames->count, &blames->capacity);
	if (!added || !blame || !kept_process || !kept_file) {
		blames->count -= added != NULL;
		free(blame);
		return NULL;
	}
	blame->cause = cause;
	blame->pid = pid;
	blame->process = kept_process;
	blame->file = file ? kept_file : NULL;
	return *added = blame;
}

struct jp_blame *jp_blame(struct jp_blames *blames, const char *id, uint32_t pid,
			  const char *process, const char *file, uint64_t samples)
{
	const struct jp_cause *cause = jp_cause_find(id);
	struct jp_blame **at = cause ? find_slot(blames, cause, pid, file) : NULL;

	if (at && !*at)
		*at = add_blame(blames, cause, pid, process, file);
	if (!at || !*at) {
		blames->failed = true;
		blames->spare = (struct jp_blame){.cause = cause};
		return &blames->spare;
	}
	(*at)->samples += samples;
	return *at;
}

void jp_blame_range(struct jp_blame *blame, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < blame->nr_ranges; i++) {
		struct jp_blame_range *range = &blame->ranges[i];

		if (start > range->end || end < range->start)
			continue;
		range->start = start < range->start ? start : range->start;
		range->end = end > range->end ? end : range->end;
		return;
	}
	if (blame->nr_ranges < JP_BLAME_RANGES)
		blame->ranges[blame->nr_ranges++] = (struct jp_blame_range){start, end};
}

void jp_blame_evidence(struct jp_blame *blame, const char *fmt, ...)
{
	va_list ap;

	if (blame->nr_evidence == JP_BLAME_EVIDENCE)
		return;
	va_start(ap, fmt);
	vsnprintf(blame->evidence[blame->nr_evidence++], sizeof(blame->evidence[0]), fmt, ap);
	va_end(ap);
}

void jp_blame_remedy(struct jp_blame *blame, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(blame->remedy, sizeof(blame->remedy), fmt, ap);
	va_end(ap);
}

void jp_blame_note_repair(struct jp_blame *blame, const char *id, uint64_t samples)
{
	blame->repaired = jp_cause_find(id);
	blame->repairs += samples;
	blame->stacks += samples;
}

void jp_blames_free(struct jp_blames *blames)
{
	for (size_t i = 0; i < blames->count; i++)
		free(blames->list[i]);
	free(blames->list);
	jp_text_pool_free(&blames->texts);
	jp_map_free(&blames->at);
	*blames = (struct jp_blames){0};
}

JP_ORDER(compare_by_cause, const struct jp_blame *,
	 jp_compare((uintptr_t)(*a)->cause, (uintptr_t)(*b)->cause)
		 ?: jp_compare((*b)->samples, (*a)->samples)
		 ?: jp_compare((*a)->pid, (*b)->pid)
		 ?: strcmp((*a)->file ?: "", (*b)->file ?: ""));

/* Compares causes by their rank, highest first; equal ranks by the order of the table of causes,
 * in which a cause precedes its consequences. */
JP_ORDER(compare_by_rank, struct jp_blamed,
	 jp_compare(b->rank, a->rank) ?: jp_compare((uintptr_t)a->cause, (uintptr_t)b->cause));

static void set_share(struct jp_blamed *cause, uint64_t samples)
{
	const uint64_t all = samples + cause->absent;

	cause->samples = jp_min(cause->samples, all);
	cause->stacks = jp_min(cause->stacks, all);
	cause->names = jp_min(cause->names, all);
	cause->share = cause->samples ? (double)cause->samples / all : 0;
	cause->rank = cause->share - (cause->samples ? (double)cause->seconds / all : 0);
}

/* Computes how many samples of @blame lose names, and how many lose their stack. */
static void split_samples(struct jp_blame *blame)
{
	const enum jp_cause_costs costs = blame->cause->costs;

	if (costs == JP_COSTS_NAMES || costs == JP_COSTS_BOTH || blame->unnamed)
		blame->names = blame->samples;
	if (costs == JP_COSTS_STACKS)
		blame->stacks = jp_max(blame->stacks, blame->samples);
	blame->samples = jp_max(blame->stacks, blame->samples);
}

static uint64_t count_each_sample_once(const struct jp_blame *blame, uint64_t samples)
{
	return samples - jp_min(blame->again, samples);
}

struct jp_blamed *jp_blames_rank(struct jp_blames *blames, uint64_t samples, size_t *count)
{
	struct jp_blamed *ranked = calloc(blames->count + 1, sizeof(*ranked)), *last = NULL;

	*count = 0;
	if (!ranked)
		return NULL;
	for (size_t i = 0; i < blames->count; i++)
		split_samples(blames->list[i]);
	jp_sort(blames->list, blames->count, compare_by_cause);
	for (size_t i = 0; i < blames->count; i++) {
		struct jp_blame *blame = blames->list[i];

		if (!last || last->cause != blame->cause) {
			last = &ranked[(*count)++];
			last->cause = blame->cause;
			last->places = &blames->list[i];
		}
		last->samples += count_each_sample_once(blame, blame->samples);
		last->names += count_each_sample_once(blame, blame->names);
		last->stacks += blame->cause->costs == JP_COSTS_STACKS
					? count_each_sample_once(blame, blame->stacks)
					: blame->stacks;
		last->seconds += blame->seconds;
		last->absent += blame->absent;
		last->nr_places++;
	}
	for (size_t i = 0; i < *count; i++)
		set_share(&ranked[i], samples);
	jp_sort(ranked, *count, compare_by_rank);
	return ranked;
}
