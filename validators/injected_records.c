// SPDX-License-Identifier: GPL-2.0-only
/* Injected records: an injector adds records of code, and may remove those of anonymous memory and
 * of jitdumps. All other records must be equal in both files. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/excuse.h"
#include "harness/base/digest.h"
#include "harness/base/map.h"
#include "harness/format/perfdata/format.h"
#include "harness/judge/validator.h"
#include "harness/model/space/mapping_name.h"

/* Count of the records that are equal, in perf.data and in injected.data. */
struct equal_records {
	int64_t count; /* records in perf.data minus records in injected.data */
	uint64_t time; /* time of the first such record */
	uint32_t pid, kind;
	/* For mappings: an injector may replace the inode by a build id. */
	uint64_t files; /* sum of the digests of the mapped files' identities */
	bool build_id;
};

struct injected_records {
	struct jp_view *view;
	struct jp_map groups; /* digest -> struct equal_records */
	uint64_t nr_bad, nr_records;
};

/* Returns whether an injector may remove the record. */
static bool may_be_removed(const struct jp_event *event)
{
	return event->type == JP_EVENT_MAP && !event->kernel_map &&
	       (jp_mapping_backing(event->map.name) != JP_BACKING_FILE || *event->map.name == '[' ||
		fnmatch("*/jit-*.dump", event->map.name, 0) == 0);
}

static uint64_t digest_record(const struct jp_event *event)
{
	const struct jp_perf_record *record = event->record;
	const uint64_t map[] = {
		event->time,     event->pid,      event->tid,
		event->cpu,      event->id,       event->misc & ~JP_PERF_MISC_MMAP_BUILD_ID,
		event->map.addr, event->map.len,  event->map.pgoff,
		event->map.prot, event->map.flags};

	if (event->type == JP_EVENT_MAP)
		return jp_digest_bytes(jp_digest_bytes(event->record_type, map, sizeof(map)),
				       event->map.name, strlen(event->map.name));
	return jp_digest_bytes(0, record, record->size);
}

static uint64_t digest_file(const struct jp_event *event)
{
	const uint64_t file[] = {event->map.maj, event->map.min, event->map.ino, event->map.gen};

	return event->map.has_identity ? jp_digest_bytes(0, file, sizeof(file)) : 0;
}

static int report(struct injected_records *state, const struct equal_records *group,
		  const char *cause, const char *problem)
{
	state->nr_bad++;
	return jp_findings_count_failure(&state->view->findings, "injected.records", cause,
					 "pid %u, record of type %u at %" PRIu64 ": %s", group->pid,
					 group->kind, group->time, problem);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct injected_records *state = view->state;
	struct equal_records *group,
		record = {.time = event->time, .pid = event->pid, .kind = event->record_type};
	uint64_t digest;

	/* An event without bytes is one that a control left out and that is added to both files. */
	if (event->type == JP_EVENT_SAMPLE || !event->record || may_be_removed(event))
		return 0;
	digest = digest_record(event);
	group = jp_map_find(&state->groups, digest);
	if (view->in_injected && !group)
		return event->type == JP_EVENT_MAP
			       ? 0
			       : report(state, &record, "added", "perf.data lacks this record");
	if (!group) {
		group = jp_map_at(&state->groups, digest, sizeof(*group));
		if (!group)
			return -ENOMEM;
		*group = record;
	}
	state->nr_records += !view->in_injected;
	group->count += view->in_injected ? -1 : 1;
	if (event->type != JP_EVENT_MAP)
		return 0;
	group->files += view->in_injected ? -digest_file(event) : digest_file(event);
	group->build_id |= !event->map.has_identity;
	return 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct injected_records *state = view->state;
	const struct equal_records *group;
	size_t cursor = 0;
	int failed = 0;

	if (!view->in_injected)
		return 0;
	while (!failed && (group = jp_map_next(&state->groups, &cursor, NULL))) {
		if (group->count > 0)
			failed = report(state, group, "absent", "injected.data lacks it");
		else if (group->count < 0)
			failed = report(state, group, "added", "injected.data has it once more");
		else if (group->files && !group->build_id)
			failed = report(state, group, "other-file",
					"injected.data has another inode");
	}
	jp_findings_add_rate(&view->findings, "injected.records", state->nr_bad, state->nr_records);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	return !view->asked->injected;
}

static void free_records(void *context)
{
	struct injected_records *state = context;

	jp_map_free(&state->groups);
}

JP_DEFINE(validator, injected_records) = {
	.name = "injected_records",
	.traits = JP_WANTS_INJECTED | JP_LACKS_RECORDS | JP_LACKS_REGISTERS | JP_LACKS_NAMES |
		  JP_LACKS_MAPPINGS | JP_LACKS_TASKS,
	.state_size = sizeof(struct injected_records),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_records,
};

static const struct jp_excuse excuses[] = {
	{"inject-unused", "inject=perf -B", "injected.missing injected.mappings injected.records",
	 "taken no-code other-time other-protection absent", NULL,
	 "perf inject -B drops mappings without samples, and repeats the others, which may hold "
	 "code, with a build id"},
	{"inject-unused.loads", "inject=perf -B", "load.unnamed", "no-mapping", NULL,
	 "perf inject -B records a mapping at the first sample in it, after the load"},
};
JP_REGISTER_ROWS(excuse, excuses);
