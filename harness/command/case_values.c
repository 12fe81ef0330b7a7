// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/case_values.h"

#include <string.h>

#include "harness/capture/profilers.h"
#include "harness/run/cases.h"
#include "harness/score/take_score.h"
#include "harness/score/scenes.h"

void jp_print_cases(FILE *out)
{
	struct jp_error ignored;
	struct jp_cases *cases = jp_cases_load(NULL, &ignored);

	for (size_t i = 0; cases && i < cases->nr_cases; i++)
		fprintf(out, "%s\n", cases->cases[i].name);
	jp_cases_free(cases);
}

void jp_print_case_globs(FILE *out)
{
	struct jp_error ignored;
	struct jp_cases *cases = jp_cases_load(NULL, &ignored);
	const char *study = "";

	for (size_t i = 0; cases && i < cases->nr_cases; i++) {
		if (strcmp(study, cases->cases[i].study) != 0)
			fprintf(out, "%s/*\n", cases->cases[i].study);
		study = cases->cases[i].study;
	}
	jp_cases_free(cases);
	jp_print_cases(out);
}

void jp_print_scenes(FILE *out)
{
	struct jp_error ignored;
	struct jp_cases *lines = jp_score_read_scenes(NULL, &ignored);
	const struct jp_score_plan plan = {.profiler = "jitproof",
					   .lines = lines,
					   .frequency = 1,
					   .publish = "map",
					   .samples = 1,
					   .seconds = 1};

	if (lines)
		jp_score_list(&plan, out, &ignored);
	jp_cases_free(lines);
}

static void print_adapter(const char *name, void *context)
{
	fprintf(context, "%s\n", name);
}

void jp_print_adapters(FILE *out)
{
	jp_profilers_visit(print_adapter, out);
}

void jp_print_score_profilers(FILE *out)
{
	fputs("jitproof\n", out);
	jp_print_adapters(out);
}
