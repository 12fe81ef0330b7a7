// SPDX-License-Identifier: GPL-2.0-only
#include "harness/score/rejudge.h"

#include <errno.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/path.h"
#include "harness/outcome/case_folder.h"

/* Returns the profiler of the case: NAME of "attach-by NAME", or our own capture. */
static const char *get_profiler(const struct jp_case *cas)
{
	const char *word = cas->capture_argv[0];
	size_t length = strlen(word);

	return length > 3 && strcmp(word + length - 3, "-by") == 0 && cas->capture_argv[1]
		       ? cas->capture_argv[1]
		       : "jitproof";
}

static int judge_folder(struct jp_score *score, const char *dir, struct jp_error *err)
{
	struct jp_score_row *row = jp_array_push(&score->rows, &score->nr_rows, &score->capacity);

	if (!row)
		return jp_fail(err, ENOMEM, "out of memory for a row");
	row->cpu = UINT64_MAX;
	row->own_cases = jp_case_folder_definition(dir, err);
	if (!row->own_cases)
		return -EINVAL;
	row->cas = &row->own_cases->cases[0];
	row->scene = jp_path_base(row->cas->name);
	row->was_launched = strncmp(row->cas->capture_argv[0], "launch", 6) == 0;
	score->profiler = get_profiler(row->cas);
	score->launches = row->was_launched;
	jp_case_folder_judge(row->cas, dir, &row->result);
	jp_score_fill(row);
	return 0;
}

int jp_score_judge_folders(const struct jp_case_folders *folders, struct jp_score *score,
			   struct jp_error *err)
{
	int ret = 0;

	*score = (struct jp_score){.profiler = "jitproof", .version = "(again)"};
	for (size_t i = 0; !ret && i < folders->count; i++)
		ret = judge_folder(score, folders->paths[i], err);
	return ret;
}
