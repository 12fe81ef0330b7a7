// SPDX-License-Identifier: GPL-2.0-only
/* What /proc/stat says that a host took, of texts and of this machine. */
#include <inttypes.h>

#include "harness/base/clock.h"
#include "harness/run/stolen_time.h"
#include "harness/selftest/check.h"

static void of(const char *text, uint64_t hz, uint64_t expected)
{
	const uint64_t found = jp_stolen_time_of(text, hz);

	check(found == expected, "\"%s\": %" PRIu64 " ns", text, found);
}

static void by_turns(const char *model, long cpus, uint64_t elapsed, uint64_t expected)
{
	const uint64_t found = jp_stolen_by_turns(model, cpus, elapsed);

	check(found == expected, "%ld of \"%s\": %" PRIu64 " ns", cpus, model, found);
}

int main(void)
{
	char line[256] = "";
	FILE *file = fopen("/proc/stat", "re");
	uint64_t before = jp_stolen_time(), after;

	of("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 80", 100, 80 * JP_NS_PER_MS);
	of("cpu  1 2 3 4 5 6 7 8", 1024, 8 * (JP_NS_PER_S / 1024));
	of("cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7 80", 100, 0);
	of("cpu  1 2 3 4 5 6 7 -8", 100, 0);
	of("cpu  1 2 3 4 5 6 7 18446744073709551615", 100, 0);
	of("cpu0 1 2 3 4 5 6 7 8", 100, 0);
	of("", 100, 0);
	by_turns("QEMU Virtual CPU version 2.5+", 2, 1000, 1000);
	by_turns("QEMU Virtual CPU version 2.5+", 4, 1000, 3000);
	by_turns("QEMU Virtual CPU version 2.5+", 1, 1000, 0);
	by_turns("AMD EPYC", 2, 1000, 0);
	check(file && fgets(line, sizeof(line), file), "/proc/stat can be read");
	after = jp_stolen_time();
	check(before <= jp_stolen_time_of(line, 100) && jp_stolen_time_of(line, 100) <= after,
	      "its first line tells it: %s", line);
	if (file)
		fclose(file);
	return check_done();
}
