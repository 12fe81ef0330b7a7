// SPDX-License-Identifier: GPL-2.0-only
#include "validators/frame_names.h"

#include <errno.h>
#include <string.h>

int jp_frame_names_init(struct jp_frame_names *names, const struct jp_truth *truth)
{
	names->truth = truth;
	for (size_t i = 0; i < truth->nr_codes; i++) {
		const char *name = truth->codes[i].name;
		struct jp_text *text = jp_text_keep(&names->texts, name, strlen(name));

		if (!text)
			return -ENOMEM;
		text->value = text;
	}
	return 0;
}

uint64_t jp_frame_number(struct jp_frame_names *names, const char *name)
{
	const struct jp_text *text = name ? jp_text_keep(&names->texts, name, strlen(name)) : NULL;

	return text && text->value ? JP_FRAME_FIRST + text->number : JP_FRAME_NATIVE;
}

void jp_frame_numbers(struct jp_frame_names *names, uint32_t pid, uint64_t time,
		      const uint64_t *frames, uint32_t count, uint64_t *numbers)
{
	for (uint32_t i = 0; i < count; i++) {
		/* A caller's address is that of what follows the call. */
		const struct jp_truth_code *code =
			jp_truth_code_at(names->truth, pid, frames[i] - !!i, time);

		numbers[i] = code ? jp_frame_number(names, code->name) : JP_FRAME_NATIVE;
	}
}

void jp_frame_names_free(struct jp_frame_names *names)
{
	jp_text_pool_free(&names->texts);
}
