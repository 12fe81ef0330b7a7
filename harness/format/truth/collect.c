// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/collect.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Walks the records in time order, with the code of every process alive beside it: a fork copies
 * the parent's, an exec drops it. Elements are known by index while the arrays grow; pointers are
 * put in at the end.
 */
enum { NONE = UINT32_MAX };
/* Bounds for what a hostile file may make us build from few records. */
enum { MAX_CODES = 1 << 23, MAX_STEPS = 1 << 26 };

struct jp_truth_process {
	uint32_t pid;
	uint32_t codes;      /* head of its list */
	uint32_t generation; /* of its code: a path resolved before may be another now */
	uint64_t ended;      /* when its last image or life began to end; 0: none did */
	uint32_t shares;     /* index of the next process in the same address space, round */
};

static uint64_t pair(uint32_t pid, uint32_t id)
{
	return (uint64_t)pid << 32 | id;
}

static struct jp_truth_process *process_at(struct jp_truth_collector *replay, uint32_t pid)
{
	uint32_t *index = jp_truth_map_at(&replay->process_of, pid);

	if (!index)
		return NULL;
	if (!*index) {
		if (!jp_truth_grow((void **)&replay->processes, &replay->processes_capacity,
				   replay->nr_processes, sizeof(*replay->processes)))
			return NULL;
		replay->processes[replay->nr_processes] = (struct jp_truth_process){
			.pid = pid, .codes = NONE, .shares = replay->nr_processes};
		*index = ++replay->nr_processes;
	}
	return &replay->processes[*index - 1];
}

static int add_code_of(struct jp_truth_collector *replay, const struct jp_truth_code *code)
{
	struct jp_truth_process *process = process_at(replay, code->pid);
	uint32_t *index = jp_truth_map_at(&replay->code_of, pair(code->pid, code->id));

	if (!process || !index)
		return -ENOMEM;
	if (replay->nr_codes >= MAX_CODES)
		return -E2BIG;
	if (!jp_truth_grow((void **)&replay->codes, &replay->codes_capacity, replay->nr_codes,
			   sizeof(*replay->codes)))
		return -ENOMEM;
	replay->codes[replay->nr_codes] = (struct jp_truth_live_code){*code, process->codes};
	process->codes = replay->nr_codes++;
	*index = replay->nr_codes;
	return 0;
}

/* The next process of the round that shares @pid's address space; @pid itself where none does. */
static uint32_t next_sharing(struct jp_truth_collector *replay, uint32_t pid)
{
	const struct jp_truth_process *process = process_at(replay, pid);

	return process ? replay->processes[process->shares].pid : pid;
}

static int add_code(struct jp_truth_collector *replay, const struct jp_truth_code *code)
{
	struct jp_truth_code one = *code;
	int ret;

	do {
		if (++replay->steps > MAX_STEPS)
			return -E2BIG;
		ret = add_code_of(replay, &one);
		one.pid = next_sharing(replay, one.pid);
	} while (!ret && one.pid != code->pid);
	return ret;
}

/* Leaves the round of those who share. */
static void stop_sharing(struct jp_truth_collector *replay, uint32_t pid)
{
	struct jp_truth_process *process = process_at(replay, pid), *last = process;
	uint32_t own = process - replay->processes;

	while (last->shares != own)
		last = &replay->processes[last->shares];
	last->shares = process->shares;
	process->shares = own;
}

/* The index of the code of @id that is alive in @pid, or NONE. */
static uint32_t code_of(struct jp_truth_collector *replay, uint32_t pid, uint64_t id)
{
	uint32_t *index =
		id <= UINT32_MAX ? jp_truth_map_at(&replay->code_of, pair(pid, id)) : NULL;

	return index && *index && *index != NONE ? *index - 1 : NONE;
}

static int load_code(struct jp_truth_collector *replay, const struct jp_truth_record *record)
{
	const struct jp_truth_item *layout =
		jp_truth_item(replay->truth, record->a[2] & UINT32_MAX, JP_TRUTH_LAYOUT);
	const struct jp_truth_item *frames =
		jp_truth_item(replay->truth, record->a[3] >> 32, JP_TRUTH_FRAMES);
	struct jp_truth_code code = {.id = (uint32_t)record->a[3],
				     .pid = record->pid,
				     .addr = record->a[0],
				     .size = record->a[1],
				     .loaded = record->before,
				     .unloaded = UINT64_MAX,
				     .ready = record->after,
				     .ending = UINT64_MAX,
				     .layout = layout ? layout->of.layout : NULL,
				     .frames = frames ? frames->of.frames : NULL,
				     .name = jp_truth_text_of(replay->truth, record->a[2] >> 32)};

	/* Its own id must lead back to it: two loads of one id are both torn. */
	if (!jp_truth_item(replay->truth, code.id, JP_TRUTH_CODE_LOAD) || !code.layout ||
	    (!frames && record->a[3] >> 32) || !code.name || !code.size ||
	    code.addr + code.size < code.addr ||
	    code.layout->insns[code.layout->count - 1].offset >= code.size) {
		jp_truth_mark_corrupt(replay->truth);
		return 0;
	}
	return add_code(replay, &code);
}

static int end_code_of(struct jp_truth_collector *replay, const struct jp_truth_record *record,
		       uint32_t pid)
{
	uint32_t at = code_of(replay, pid, record->a[0]), *index;
	struct jp_truth_code *code = at == NONE ? NULL : &replay->codes[at].code, moved;
	struct jp_truth_process *process = process_at(replay, pid);

	if (!process)
		return -ENOMEM;
	if (!code ||
	    (record->type == JP_TRUTH_CODE_MOVE && record->a[1] + code->size < record->a[1])) {
		jp_truth_mark_corrupt(replay->truth);
		return 0;
	}
	process->generation++;
	code->unloaded = record->after;
	code->ending = record->before;
	moved = *code;
	index = jp_truth_map_at(&replay->code_of, pair(pid, code->id));
	if (!index)
		return -ENOMEM;
	*index = NONE;
	if (record->type == JP_TRUTH_CODE_UNLOAD)
		return 0;
	moved.addr = record->a[1];
	moved.loaded = record->before;
	moved.unloaded = UINT64_MAX;
	moved.ready = record->after;
	moved.ending = UINT64_MAX;
	return add_code_of(replay, &moved);
}

static int end_code(struct jp_truth_collector *replay, const struct jp_truth_record *record)
{
	uint32_t pid = record->pid;
	int ret;

	do {
		if (++replay->steps > MAX_STEPS)
			return -E2BIG;
		ret = end_code_of(replay, record, pid);
		pid = next_sharing(replay, pid);
	} while (!ret && pid != record->pid);
	return ret;
}

/* Whatever the pid was is over: its activations end, and so does its code. */
static int end_life(struct jp_truth_collector *replay, const struct jp_truth_record *record)
{
	struct jp_truth_process *own = process_at(replay, record->pid);

	if (!own || !jp_truth_grow((void **)&replay->ends, &replay->ends_capacity, replay->nr_ends,
				   sizeof(*replay->ends)))
		return -ENOMEM;
	replay->ends[replay->nr_ends++] =
		(struct jp_truth_ending){record->pid, record->before, record->after};
	for (uint32_t at = own->codes; at != NONE; at = replay->codes[at].next) {
		struct jp_truth_code *code = &replay->codes[at].code;
		uint32_t *index = jp_truth_map_at(&replay->code_of, pair(code->pid, code->id));

		if (!index)
			return -ENOMEM;
		if (code->unloaded == UINT64_MAX) {
			code->unloaded = record->after;
			code->ending = record->before;
		}
		*index = NONE;
	}
	own->codes = NONE;
	own->generation++;
	own->ended = record->before;
	stop_sharing(replay, record->pid);
	return 0;
}

static int start_process(struct jp_truth_collector *replay, const struct jp_truth_record *record)
{
	bool shares = record->a[1] == JP_HOW_SHARE;
	struct jp_truth_process *own, *parent;
	uint32_t at;
	int ret = end_life(replay, record);

	if (ret)
		return ret;
	if (record->a[1] != JP_HOW_FORK && record->a[1] != JP_HOW_VFORK && !shares)
		return 0;
	if (record->a[0] > UINT32_MAX || record->a[0] == record->pid) {
		jp_truth_mark_corrupt(replay->truth);
		return 0;
	}
	/* The second call may move what the first one gave. */
	parent = process_at(replay, record->a[0]);
	own = parent ? process_at(replay, record->pid) : NULL;
	parent = own ? process_at(replay, record->a[0]) : NULL;
	if (!parent)
		return -ENOMEM;
	/* Indices, not pointers: the codes grow under our feet. */
	for (at = parent->codes; at != NONE && !ret; at = replay->codes[at].next) {
		struct jp_truth_code code = replay->codes[at].code;

		if (++replay->steps > MAX_STEPS)
			return -E2BIG;
		if (code.unloaded != UINT64_MAX)
			continue;
		code.pid = record->pid;
		code.loaded = record->before;
		code.ready = record->after;
		ret = add_code_of(replay, &code);
	}
	if (shares) {
		at = own->shares;
		own->shares = parent->shares;
		parent->shares = at;
	}
	return ret;
}

/* Whether a function calls another in its turn. */
static bool leads_on(const struct jp_truth_layout *layout)
{
	return layout->returns != UINT32_MAX || layout->tail != UINT32_MAX;
}

/* The version of the path that is valid now, index + 1; 0: not believed. */
static int resolve(struct jp_truth_collector *replay, uint32_t pid, uint64_t id, uint32_t *version)
{
	const struct jp_truth_item *path = jp_truth_item(replay->truth, id, JP_TRUTH_PATH);
	struct jp_truth_process *process = process_at(replay, pid);
	uint32_t *known, generation, depth;
	struct jp_truth_version *fresh;

	*version = 0;
	if (!process)
		return -ENOMEM;
	generation = process->generation;
	if (!path)
		return 0;
	depth = path->of.path.depth;
	known = jp_truth_map_at(&replay->version_of, pair(pid, id));
	if (!known)
		return -ENOMEM;
	if (*known && replay->versions[*known - 1].generation == generation) {
		*version = *known;
		return 0;
	}
	replay->steps += depth;
	if (replay->steps > MAX_STEPS)
		return -E2BIG;
	if (!jp_truth_grow((void **)&replay->versions, &replay->versions_capacity,
			   replay->nr_versions, sizeof(*replay->versions)))
		return -ENOMEM;
	fresh = &replay->versions[replay->nr_versions];
	*fresh = (struct jp_truth_version){generation, id, depth, malloc(depth * sizeof(uint32_t))};
	if (!fresh->codes)
		return -ENOMEM;
	for (uint32_t d = 0; d < depth; d++) {
		uint32_t at = code_of(replay, pid, path->of.path.functions[d]);

		if (at == NONE || (d + 1 < depth && !leads_on(replay->codes[at].code.layout))) {
			free(fresh->codes);
			return 0;
		}
		fresh->codes[d] = at;
	}
	*known = *version = ++replay->nr_versions;
	return 0;
}

static int enter(struct jp_truth_collector *replay, const struct jp_truth_record *record)
{
	struct jp_truth *truth = replay->truth;
	const struct jp_truth_item *chain =
		jp_truth_item(truth, record->a[3] & UINT32_MAX, JP_TRUTH_ROOT);
	const struct jp_truth_item *dump = jp_truth_item(truth, record->a[3] >> 32, JP_TRUTH_ROOT);
	struct jp_truth_open_activation *fresh;
	uint32_t version, *open;
	int ret = resolve(replay, record->pid, record->a[0] & UINT32_MAX, &version);

	if (ret)
		return ret;
	open = jp_truth_map_at(&replay->activation_of, record->tid);
	if (!open)
		return -ENOMEM;
	if (*open && *open != NONE) {
		struct jp_truth_activation *old = &replay->activations[*open - 1].activation;
		const struct jp_truth_process *process = process_at(replay, old->pid);

		/* The end of its process or image ended it (seen to at the end), or another process
		 * has its tid now; else the record of its end is missing. */
		if (old->pid != record->pid)
			old->leave = record->before;
		else if (!process || process->ended < old->enter)
			jp_truth_mark_corrupt(truth);
		*open = NONE;
	}
	if (!version || !chain || !dump || chain->of.root->method != JP_CHAIN ||
	    dump->of.root->method != JP_DUMP || !chain->of.root->count || !dump->of.root->count) {
		jp_truth_mark_corrupt(truth);
		return 0;
	}
	if (!jp_truth_grow((void **)&replay->activations, &replay->activations_capacity,
			   replay->nr_activations, sizeof(*replay->activations)))
		return -ENOMEM;
	fresh = &replay->activations[replay->nr_activations++];
	*fresh = (struct jp_truth_open_activation){
		{.pid = record->pid,
		 .tid = record->tid,
		 .enter = record->before,
		 .leave = UINT64_MAX,
		 .sp = record->a[1],
		 .bp = record->a[2],
		 .other_stack = record->a[0] >> 32 & JP_ENTER_OTHER_STACK,
		 .root = {chain->of.root, dump->of.root}},
		version - 1,
		record->a[0] >> 32 & JP_ENTER_INTERRUPTED};
	*open = replay->nr_activations;
	return 0;
}

static int leave(struct jp_truth_collector *replay, const struct jp_truth_record *record)
{
	uint32_t *open = jp_truth_map_at(&replay->activation_of, record->tid);
	struct jp_truth_open_activation *activation;

	if (!open)
		return -ENOMEM;
	activation = *open && *open != NONE ? &replay->activations[*open - 1] : NULL;
	if (!activation || activation->activation.pid != record->pid ||
	    replay->versions[activation->path].id != record->a[0]) {
		jp_truth_mark_corrupt(replay->truth);
		return 0;
	}
	activation->activation.leave = record->after;
	activation->activation.roots_changed = record->a[1] & JP_LEAVE_CHANGED;
	activation->activation.was_interrupted = record->a[1] & JP_LEAVE_INTERRUPTED;
	activation->activation.interrupted_ip = record->a[2];
	activation->activation.interrupted_sp = record->a[3];
	*open = NONE;
	return 0;
}

static int apply(struct jp_truth_collector *replay, const struct jp_truth_record *record)
{
	int ret;

	switch (record->type) {
	case JP_TRUTH_CODE_LOAD:
		return load_code(replay, record);
	case JP_TRUTH_CODE_MOVE:
	case JP_TRUTH_CODE_UNLOAD:
		return end_code(replay, record);
	case JP_TRUTH_ENTER:
		return enter(replay, record);
	case JP_TRUTH_LEAVE:
		return leave(replay, record);
	case JP_TRUTH_PROCESS_START:
		ret = start_process(replay, record);
		return ret ? ret : jp_truth_add_act(replay->truth, &replay->acts_capacity, record);
	case JP_TRUTH_PROCESS_EXIT:
		ret = end_life(replay, record);
		return ret ? ret : jp_truth_add_act(replay->truth, &replay->acts_capacity, record);
	case JP_TRUTH_TEXT:
	case JP_TRUTH_LAYOUT:
	case JP_TRUTH_PATH:
	case JP_TRUTH_ROOT:
	case JP_TRUTH_FRAMES:
	case JP_TRUTH_FILE: /* jp_truth_build_files() */
		return 0;
	default:
		return jp_truth_add_act(replay->truth, &replay->acts_capacity, record);
	}
}

int jp_truth_collector(struct jp_truth *truth, const char *path, struct jp_error *err)
{
	struct jp_truth_collector replay = {.truth = truth};
	int ret = 0;

	for (size_t i = 0; i < truth->tables->nr_believed && !ret; i++) {
		const struct jp_truth_record *record = truth->tables->believed[i];

		ret = apply(&replay, record);
		if (ret == -E2BIG)
			jp_fail(err, E2BIG,
				"%s: offset %zu: more forked code or moved paths than a truth can "
				"hold (%d codes, %d steps)",
				path,
				JP_TRUTH_PAGE + (record - truth->tables->slots) * sizeof(*record),
				MAX_CODES, MAX_STEPS);
	}
	if (!ret)
		ret = jp_truth_give(&replay);
	if (ret && ret != -E2BIG)
		jp_fail(err, -ret, "%s: no memory", path);
	for (size_t i = 0; i < replay.nr_versions; i++)
		free(replay.versions[i].codes);
	free(replay.codes);
	free(replay.processes);
	free(replay.activations);
	free(replay.versions);
	free(replay.ends);
	jp_truth_map_free(&replay.process_of);
	jp_truth_map_free(&replay.code_of);
	jp_truth_map_free(&replay.version_of);
	jp_truth_map_free(&replay.activation_of);
	return ret;
}
