/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/search.h"
#include "harness/judge/findings.h"
#include "harness/model/oracle/truth.h"

/* Returns the start of the last exec of @pid, in ns, or 0. Each exec begins a new perf map and
 * jitdump. */
static inline uint64_t jp_find_last_exec(const struct jp_truth *truth, uint32_t pid)
{
	const struct jp_truth_incarnation *incarnations = truth->incarnations;
	size_t i;

	jp_search(i, truth->nr_incarnations, incarnations[i].pid <= pid);
	return i && incarnations[i - 1].pid == pid ? incarnations[i - 1].before : 0;
}

/* Returns whether the image that loaded @code was launched. Later images (forked processes, and the
 * images of later execs) may publish in another way: --publish-children. */
static inline bool jp_is_of_launched_image(const struct jp_truth *truth,
					   const struct jp_truth_code *code)
{
	const struct jp_truth_incarnation *image =
		jp_truth_image_at(truth, code->pid, code->loaded);

	return !image || !image->before;
}

/* Counts @exception for the image that loaded @code. */
static inline void jp_count_in_image(struct jp_exception *exception, const struct jp_truth *truth,
				     const struct jp_truth_code *code)
{
	const struct jp_truth_incarnation *image =
		jp_truth_image_at(truth, code->pid, code->loaded);
	const bool first = jp_is_of_launched_image(truth, code);
	const bool inherited = !first && image->is_forked && code->loaded == image->before;
	const bool last = !image || image + 1 == truth->incarnations + truth->nr_incarnations ||
			  image[1].pid != image->pid;
	const bool shared = !inherited && (code->by_pid != code->pid || (image && image->borrower));

	exception->in_first += first;
	exception->inherited += inherited;
	exception->in_later += !first && !inherited;
	exception->in_killed += image && image->killed;
	exception->replaced += !last && !inherited;
	exception->shared += shared;
}
