// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes the reduction of a perf.data for archives: a readable file must remain readable. */
#include <fcntl.h>
#include <unistd.h>

#include "harness/format/perfdata/read.h"
#include "harness/format/perfdata/reduce.h"
#include "harness/selftest/fuzz/fuzz.h"
#include "harness/selftest/support/made_events.h"

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	struct jp_perfdata_summary summary;
	struct jp_reduced reduced = {0};
	struct jp_error err;
	const bool is_readable = !jp_perfdata_read(path, ignore_event, NULL, &summary, &err);
	const int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		abort();
	if (!jp_perfdata_reduce(path, fd, &reduced, &err) && is_readable &&
	    jp_perfdata_read(path, ignore_event, NULL, &summary, &err))
		abort();
	jp_reduced_free(&reduced);
	close(fd);
}

const struct fuzz_target fuzz_target = {
	.seeds = (const char *const[]){"validators/fixtures/anon/perf.data",
				       "validators/fixtures/memfd/perf.data",
				       "harness/selftest/fuzz/corpus/odd.data", NULL},
	.rounds = 1500,
	.truncations = 100,
};
