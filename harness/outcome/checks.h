/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/judge.h"
#include "harness/outcome/outcome.h"

/* Checks that turn findings into an outcome. Each adds the faults that it finds to @result. */

/* evidence.c */

/* Checks for errors that make a run worthless, whatever its figures. */
void jp_check_files(const struct jp_truth *truth, const struct jp_judgement *judgement,
		    struct jp_result *result);
/* Checks that `capture` states what the runner observed (figures.c). */
void jp_check_window(const struct jp_evidence *evidence, struct jp_result *result);
/* Checks that the options and files that `capture` states are those that the case requested
 * (stated.c). @environment: text of env.json, or NULL. */
void jp_check_stated(const struct jp_evidence *evidence, const struct jp_perfdata_summary *file,
		     const char *environment, struct jp_result *result);
/* Checks that all descriptions of the machine agree (environment.c). */
void jp_check_environment(const struct jp_evidence *evidence,
			  const struct jp_perfdata_summary *file, const char *environment,
			  struct jp_result *result);
/* Checks that the figures that our capture states agree with its files (figures.c). */
void jp_check_figures(const struct jp_evidence *evidence, const struct jp_perfdata_summary *file,
		      struct jp_result *result);
/* Checks that the features of a perf.data agree with its events and samples. @is_own: jitproof
 * recorded the file. */
void jp_check_features(const struct jp_perfdata_summary *file, bool is_own,
		       struct jp_result *result);
/* Fails a capture with enough samples if most of them lie at places that the truth excludes. Such a
 * capture is wrong (FAIL); it is not a lack of evidence (ERROR). */
void jp_check_samples_elsewhere(struct jp_result *result);
/* Checks that the classes of each account (struct jp_accounts) add up to its total. */
void jp_check_balance(struct jp_result *result);
/* Checks that the workload of @dir performed the acts that the case needs (acts=KIND:N). */
void jp_check_enough_acts(const struct jp_evidence *evidence, const char *dir,
			  struct jp_result *result);
/* Checks that there is enough evidence for the validators. */
void jp_check_evidence(struct jp_result *result);

/* Checks that judging rejected a control (a deliberately wrong capture), and only for its
 * deliberate error (control.c). @control_findings: the findings after the omitted data was added
 * back. */
void jp_check_control(const struct jp_findings *control_findings, struct jp_result *result);

/* Returns whether @dir has the last output of a crashed profiler; then @result is final
 * (crash.c). */
bool jp_check_crash(const char *dir, struct jp_result *result);
