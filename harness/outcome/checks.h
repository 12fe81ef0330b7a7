/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/judge.h"
#include "harness/outcome/outcome.h"

/* What makes an outcome of findings. Each notes in @result what it finds wrong. */

/* evidence.c */
/* What makes a run worthless, whatever its figures. */
void jp_check_files(const struct jp_truth *truth, const struct jp_judgement *judgement,
		    struct jp_result *result);
/* window.c: whether `capture` states what the runner saw. */
void jp_check_window(const struct jp_evidence *evidence, struct jp_result *result);
/* stated.c: whether the rest of it is what the case asked for. @environment: the text of env.json,
 * NULL where there is none. */
void jp_check_stated(const struct jp_evidence *evidence, const struct jp_perfdata_summary *file,
		     const char *environment, struct jp_result *result);
/* environment.c: whether all that tells of the machine tells the same. */
void jp_check_environment(const struct jp_evidence *evidence,
			  const struct jp_perfdata_summary *file, const char *environment,
			  struct jp_result *result);
/* figures.c: whether the figures that ours states, and what its file says of itself, are those of
 * what it wrote. */
void jp_check_figures(const struct jp_evidence *evidence, const struct jp_perfdata_summary *file,
		      struct jp_result *result);
/* The latter alone, of whosever capture. */
void jp_check_features(const struct jp_perfdata_summary *file, bool ours, struct jp_result *result);
/* Whether most samples lie where the truth rules them out, though enough were taken: a fault of who
 * took them, and no lack of evidence. */
void jp_check_elsewhere(struct jp_result *result);
/* Whether everything that a file holds is in a class. */
void jp_check_books(struct jp_result *result);
/* Whether there is enough of all that the validators say is needed. */
void jp_check_evidence(struct jp_result *result);

/* control.c: a capture that is wrong on purpose must be caught, and for that reason alone.
 * @again: what is found with what it left out added back. */
void jp_check_control(const struct jp_findings *again, struct jp_result *result);

/* crash.c: the last words of a profiler in @dir, if there are any: true, and @result is all there
 * is. */
bool jp_check_crash(const char *dir, struct jp_result *result);
