// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/stolen_time.h"

#include <string.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/number.h"
#include "harness/case/scope.h"
#include "harness/run/cpu_model.h"

/* cpu  user nice system idle iowait irq softirq steal */
enum { BEFORE_STEAL = 7 };

uint64_t jp_stolen_time_of(const char *text, uint64_t hz)
{
	uint64_t ticks = 0;

	if (strncmp(text, "cpu ", 4) != 0)
		return 0;
	text += 3;
	for (int i = 0; i <= BEFORE_STEAL; i++) {
		text += strspn(text, " ");
		if (!jp_number_take(&text, 10, UINT64_MAX / JP_NS_PER_S, &ticks))
			return 0;
	}
	return ticks * (JP_NS_PER_S / hz);
}

uint64_t jp_stolen_by_turns(const char *model, long cpus, uint64_t elapsed)
{
	return cpus > 1 && jp_cpu_is_emulated(model) ? (uint64_t)(cpus - 1) * elapsed : 0;
}

uint64_t jp_stolen_time(void)
{
	const long hz = sysconf(_SC_CLK_TCK);
	char text[512], model[256];
	uint64_t told = hz > 0 && jp_file_text("/proc/stat", text, sizeof(text)) > 0
				? jp_stolen_time_of(text, (uint64_t)hz)
				: 0;

	if (jp_cpu_model(model, sizeof(model)))
		told += jp_stolen_by_turns(model, sysconf(_SC_NPROCESSORS_ONLN), jp_clock_now());
	return told;
}
