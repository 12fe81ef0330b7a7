// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/evidence/control.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/model/space/replay.h"

const struct jp_control *jp_control_find_missing_mapping(struct jp_left_out *left_out,
							 uint64_t time)
{
	const struct jp_control *control = NULL;

	while ((control = jp_registry_next(JP_CONTROL, control))) {
		left_out->control = control;
		left_out->map = NULL;
		if (control->mapping && control->mapping(left_out, time))
			return control;
	}
	return left_out->control = NULL;
}

const struct jp_control *jp_control_find_missing_exec(const struct jp_evidence *evidence,
						      uint32_t pid, uint64_t from, uint64_t to)
{
	const struct jp_control *control = NULL;

	while ((control = jp_registry_next(JP_CONTROL, control)))
		if (control->exec && control->exec(evidence, pid, from, to))
			break;
	return control;
}

const struct jp_control *jp_control_find_missing_thread(const struct jp_evidence *evidence,
							uint32_t tid)
{
	const struct jp_control *control = NULL;

	while ((control = jp_registry_next(JP_CONTROL, control)))
		if (control->thread && control->thread(evidence, tid))
			break;
	return control;
}

int jp_extras_collect(struct jp_extras *added_records, const struct jp_evidence *evidence,
		      const struct jp_control *control)
{
	*added_records = (struct jp_extras){0};
	if (!control)
		return 0;
	added_records->texts = jp_replay_new();
	return added_records->texts ? control->add_back(evidence, added_records) : -ENOMEM;
}

void jp_extras_free(struct jp_extras *added_records)
{
	free(added_records->events);
	jp_replay_free(added_records->texts);
	*added_records = (struct jp_extras){0};
}

int jp_extras_add_event(struct jp_extras *added_records, const struct jp_event *event)
{
	struct jp_event *last = jp_array_push(&added_records->events, &added_records->count,
					      &added_records->capacity);
	struct jp_event copy = *event;
	const char **text = event->type == JP_EVENT_MAP ? &copy.map.name : &copy.comm.name;

	*text = jp_replay_text(added_records->texts, *text);
	if (!last || !*text)
		return -ENOMEM;
	for (; last > added_records->events && last[-1].time > copy.time; last--)
		*last = last[-1];
	*last = copy;
	return 0;
}

int jp_extras_add_map(struct jp_extras *added_records, const struct jp_snapshot *snapshot,
		      const struct jp_procmap *map)
{
	const struct jp_event event = jp_procmap_event(map, snapshot->pid, snapshot->before);

	return jp_extras_add_event(added_records, &event);
}
