/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/judge.h"
#include "harness/outcome/outcome.h"

/* Checks that turn findings into an outcome. Each notes in @result what it finds wrong. */

/* evidence.c */
/* Checks for errors that make a run worthless, whatever its figures. */
void jp_check_files(const struct jp_truth *truth, const struct jp_judgement *judgement,
		    struct jp_result *result);
/* window.c: does `capture` state what the runner observed? */
void jp_check_window(const struct jp_evidence *evidence, struct jp_result *result);
/* stated.c: is the rest of `capture` what the case requested? @environment: text of env.json, or
 * NULL. */
void jp_check_stated(const struct jp_evidence *evidence, const struct jp_perfdata_summary *file,
		     const char *environment, struct jp_result *result);
/* environment.c: do all descriptions of the machine agree? */
void jp_check_environment(const struct jp_evidence *evidence,
			  const struct jp_perfdata_summary *file, const char *environment,
			  struct jp_result *result);
/* figures.c: are the figures that our capture states those of its files? */
void jp_check_figures(const struct jp_evidence *evidence, const struct jp_perfdata_summary *file,
		      struct jp_result *result);
/* The same for the features of any capture's file. */
void jp_check_features(const struct jp_perfdata_summary *file, bool ours, struct jp_result *result);
/* Do most samples lie where the truth excludes them, although there are enough? That is the
 * capture's fault, not a lack of evidence. */
void jp_check_elsewhere(struct jp_result *result);
/* Does each thing in a file belong to a class? */
void jp_check_books(struct jp_result *result);
/* Is there enough of all that the validators need? */
void jp_check_evidence(struct jp_result *result);

/* control.c: a deliberately wrong capture must be caught, only for its deliberate error. @again:
 * findings with its omissions added back. */
void jp_check_control(const struct jp_findings *again, struct jp_result *result);

/* crash.c: returns whether @dir has the last output of a crashed profiler; then @result is
 * final. */
bool jp_check_crash(const char *dir, struct jp_result *result);
