// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/procmaps/procmaps.h"
#include "harness/selftest/fuzz/fuzz.h"

static const char *const maps[] = {"validators/fixtures/anon/maps",
				   "validators/fixtures/memfd/maps", NULL};

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	struct jp_procmap *parsed;
	struct jp_error err;
	/* Exactly as large as the input, so that ASan detects overruns. */
	char *text = malloc(size);
	size_t count;
	size_t skip = 0;

	for (size_t i = 0; i < size; i++)
		text[i] = (char)bytes[i];
	/* Skip the head line of a run directory's snapshot. */
	if (size && *text == '#')
		while (skip < size && text[skip++] != '\n')
			;
	if (!jp_procmaps_parse(text + skip, size - skip, &parsed, &count, &err)) {
		for (size_t i = 0; i < count; i++)
			if (!parsed[i].name || parsed[i].start > parsed[i].end)
				abort();
		free(parsed);
	}
	free(text);
}

const struct fuzz_target fuzz_target = {
	.seeds = maps,
	.rounds = 10000,
	.truncations = 1000,
};
