// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/evidence/witness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/search.h"
#include "harness/format/capture/capture_read.h"
#include "harness/format/perfdata/read.h"

struct loading {
	struct jp_witnessed *witnessed;
	size_t capacity;
	const char *path;
	struct jp_error *err;
};

static int visit(void *context, const struct jp_event *event)
{
	struct loading *loading = context;
	struct jp_witnessed *witnessed = loading->witnessed;
	struct jp_witness_sample *sample;

	if (event->type != JP_EVENT_SAMPLE)
		return 0;
	if (event->attr || !event->asked || !event->asked->period || !event->asked->timed ||
	    !event->asked->threads || !event->asked->cpus)
		return jp_fail(loading->err, EINVAL,
			       "%s: offset %llu: expected samples of one event with a period, each "
			       "with its time, thread and CPU",
			       loading->path, (unsigned long long)event->at);
	sample = jp_array_push(&witnessed->samples, &witnessed->count, &loading->capacity);
	if (!sample)
		return jp_fail(loading->err, ENOMEM, "%s: no memory", loading->path);
	witnessed->period = event->asked->period;
	*sample = (struct jp_witness_sample){.time = event->time,
					     .ip = event->sample.ip,
					     .pid = event->pid,
					     .tid = event->tid,
					     .cpu = event->cpu,
					     .user = event->sample.user};
	return 0;
}

static int by_thread(const void *left, const void *right)
{
	const struct jp_witness_sample *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->time > b->time) - (a->time < b->time);
}

int jp_witnessed_load(struct jp_witnessed *witnessed, const char *path, struct jp_error *err)
{
	struct loading loading = {witnessed, 0, path, err};
	struct jp_perfdata_summary summary;
	int ret = jp_capture_check(path, err)
			  ?: jp_perfdata_read(path, visit, &loading, &summary, err);

	if (ret)
		return ret;
	if (witnessed->count)
		qsort(witnessed->samples, witnessed->count, sizeof(*witnessed->samples), by_thread);
	return 0;
}

void jp_witnessed_free(struct jp_witnessed *witnessed)
{
	free(witnessed->samples);
}

size_t jp_witnessed_from(const struct jp_witnessed *witnessed, uint32_t tid, uint64_t time)
{
	const struct jp_witness_sample *samples = witnessed->samples;
	size_t i;

	jp_search(i, witnessed->count,
		  samples[i].tid < tid || (samples[i].tid == tid && samples[i].time < time));
	return i;
}
