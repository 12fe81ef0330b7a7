// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/observations/read.h"
#include "harness/selftest/fuzz/fuzz.h"

/* Aborts unless times rise and texts that an event points to are sane. */
static int visit(void *context, const struct jp_event *event)
{
	uint64_t *last = context;

	if (event->time < *last)
		abort();
	*last = event->time;
	if (event->type == JP_EVENT_MAP && strlen(event->map.name) > 1 << 20)
		abort();
	for (uint64_t i = 0; event->observed && i < event->observed->nr_names; i++)
		if (event->observed->names[i] && !*event->observed->names[i])
			abort();
	return 0;
}

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	struct jp_perfdata_summary summary;
	struct jp_declared declared;
	struct jp_error err = {""};
	uint64_t last = 0;

	if (jp_observations_read(path, visit, &last, &declared, &summary, &err) && !*err.text)
		abort();
}

/* Restores the magic, so that the fuzzer reaches the code after this check. */
static void restore_magic(unsigned char *bytes, size_t size)
{
	static const char magic[] = JP_OBSERVATIONS_MAGIC "1\n";

	memcpy(bytes, magic, size < sizeof(magic) - 1 ? size : sizeof(magic) - 1);
}

const struct fuzz_target fuzz_target = {
	.seeds = (const char *const[]){"harness/selftest/fuzz/corpus/observations", NULL},
	.rounds = 10000,
	.truncations = 500,
	.mend = restore_magic,
};
