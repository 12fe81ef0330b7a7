// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes `jitproof inject` by a changed jitdump or a changed capture, and with it the writers of
 * records, ELF files, call frame information and line tables. */
#include <stdio.h>
#include <unistd.h>

#include "harness/format/perfdata/read.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/inject/inject.h"
#include "harness/selftest/fuzz/fuzz.h"
#include "harness/selftest/support/made_events.h"

#define GROWTH "validators/fixtures/growth"

static void ignore_line(void *context, const char *line)
{
}

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	const bool capture = size >= 8 && !memcmp(bytes, "PERFILE2", 8);
	char output[128], folder[128], dump[128];
	struct jp_inject_options options = {.anon = size % 3 ? JP_ANON_CUT : JP_ANON_STRIP,
					    .input = capture ? path : GROWTH "/perf.data",
					    .output = output,
					    .folder = folder,
					    .jitdumps = capture ? GROWTH : fuzz_folder()};
	struct jp_perfdata_summary summary;
	struct jp_injection *inject;
	struct jp_error err;

	snprintf(output, sizeof(output), "%s/output", fuzz_folder());
	snprintf(folder, sizeof(folder), "%s/jit", fuzz_folder());
	snprintf(dump, sizeof(dump), "%s/jit-12329.dump", fuzz_folder());
	unlink(dump);
	if (!capture && link(path, dump))
		abort();
	inject = jp_injection_open(&options, &err);
	if (inject && !jp_injection_run(inject, NULL, ignore_line, NULL, &err) &&
	    jp_perfdata_read(output, ignore_event, NULL, &summary, &err))
		abort();
	jp_injection_close(inject);
	jp_run_dir_remove(folder);
}

const struct fuzz_target fuzz_target = {
	.seeds = (const char *const[]){GROWTH "/jit-12329.dump", GROWTH "/perf.data",
				       "harness/selftest/fuzz/corpus/every.dump",
				       "harness/selftest/fuzz/corpus/jit.dump", NULL},
	.rounds = 1000,
	.truncations = 100,
};
