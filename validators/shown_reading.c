// SPDX-License-Identifier: GPL-2.0-only
#include "validators/shown_reading.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/search.h"

int jp_shown_reading_init(struct jp_shown_reading *reading)
{
	reading->is_found = calloc(reading->shown->count ?: 1, sizeof(*reading->is_found));
	return reading->is_found ? 0 : -ENOMEM;
}

void jp_shown_reading_free(struct jp_shown_reading *reading)
{
	free(reading->is_found);
	jp_map_free(&reading->absent_processes);
}

int jp_shown_reading_find(struct jp_shown_reading *reading, const struct jp_event *event,
			  const struct jp_shown_sample **found)
{
	const struct jp_shown *shown = reading->shown;
	struct jp_shown_absent *process =
		jp_map_at(&reading->absent_processes, event->pid, sizeof(*process));
	size_t index;

	*found = NULL;
	if (!process)
		return -ENOMEM;
	reading->nr_recorded++;
	process->samples++;
	jp_search(index, shown->count, shown->samples[index].time < event->time);
	for (; index < shown->count && shown->samples[index].time == event->time; index++) {
		const struct jp_shown_sample *sample = &shown->samples[index];

		if (reading->is_found[index] || sample->pid != event->pid ||
		    sample->tid != event->tid)
			continue;
		reading->is_found[index] = true;
		*found = sample;
		return 0;
	}
	reading->nr_missing++;
	if (!process->nr_absent++) {
		process->time = event->time;
		process->tid = event->tid;
	}
	return 0;
}

const struct jp_shown_sample *jp_shown_reading_next_invented(const struct jp_shown_reading *reading,
							     size_t *from)
{
	while (*from < reading->shown->count)
		if (!reading->is_found[(*from)++])
			return &reading->shown->samples[*from - 1];
	return NULL;
}
