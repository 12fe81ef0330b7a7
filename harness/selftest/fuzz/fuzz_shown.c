// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/shown/shown.h"
#include "harness/selftest/fuzz/fuzz.h"

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	char *text = malloc(size + 1);
	struct jp_shown shown;
	struct jp_error err = {""};
	uint64_t last = 0;

	if (!text)
		abort();
	memcpy(text, bytes, size);
	text[size] = '\0';
	if (jp_shown_parse(&shown, path, text, size, &err) && !*err.text)
		abort();
	for (size_t i = 0; !*err.text && i < shown.count; i++) {
		const struct jp_shown_sample *sample = &shown.samples[i];

		if (sample->time < last || sample->first + sample->count > shown.nr_frames)
			abort();
		last = sample->time;
		for (size_t j = sample->first; j < sample->first + sample->count; j++)
			if (shown.frames[j].name && !*shown.frames[j].name)
				abort();
	}
	jp_shown_free(&shown);
}

/* Restores the first line, so that the fuzzer reaches the code behind its check. */
static void restore_magic(unsigned char *bytes, size_t size)
{
	static const char magic[] = "jitproof-shown 1\n";

	memcpy(bytes, magic, size < sizeof(magic) - 1 ? size : sizeof(magic) - 1);
}

const struct fuzz_target fuzz_target = {
	.seeds = (const char *const[]){"harness/selftest/fuzz/corpus/shown", NULL},
	.rounds = 10000,
	.truncations = 500,
	.mend = restore_magic,
};
