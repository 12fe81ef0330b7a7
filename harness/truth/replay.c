// SPDX-License-Identifier: GPL-2.0-only
#include "harness/truth/tables.h"

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

struct live_code {
	struct jp_truth_code code;
	uint32_t next; /* of the same process */
};

struct process {
	uint32_t pid;
	uint32_t codes;      /* head of its list */
	uint32_t generation; /* of its code: a path resolved before may be another now */
	uint64_t ended;      /* when its last image or life began to end; 0: none did */
	uint32_t shares;     /* index of the next process in the same address space, round */
};

/* An image or a life of a process that ended: an exec, an exit, a pid that is used again. */
struct end {
	uint32_t pid;
	uint64_t before, after;
};

struct open_stay {
	struct jp_truth_stay stay;
	uint32_t path; /* index of the version */
	bool over;
};

/* A path as resolved in one process, while no code moves. */
struct version {
	uint32_t generation, id, depth;
	uint32_t *codes; /* indices */
};

struct replay {
	struct jp_truth *truth;
	struct live_code *codes;
	size_t nr_codes, room_codes;
	struct process *processes;
	size_t nr_processes, room_processes;
	struct open_stay *stays;
	size_t nr_stays, room_stays;
	struct version *versions;
	size_t nr_versions, room_versions, steps;
	struct end *ends;
	size_t nr_ends, room_ends;
	size_t room_acts;
	struct jp_truth_map process_of; /* pid -> index + 1 */
	struct jp_truth_map code_of;    /* pid, function id -> index + 1, or NONE */
	struct jp_truth_map version_of; /* pid, path id -> index + 1 */
	struct jp_truth_map stay_of;    /* tid -> index + 1 of the open one, or NONE */
};

static uint64_t pair(uint32_t pid, uint32_t id)
{
	return (uint64_t)pid << 32 | id;
}

static struct process *process_at(struct replay *replay, uint32_t pid)
{
	uint32_t *index = jp_truth_map_at(&replay->process_of, pid);

	if (!index)
		return NULL;
	if (!*index) {
		if (!jp_truth_grow((void **)&replay->processes, &replay->room_processes,
				   replay->nr_processes, sizeof(*replay->processes)))
			return NULL;
		replay->processes[replay->nr_processes] =
			(struct process){.pid = pid, .codes = NONE, .shares = replay->nr_processes};
		*index = ++replay->nr_processes;
	}
	return &replay->processes[*index - 1];
}

static int add_code_of(struct replay *replay, const struct jp_truth_code *code)
{
	struct process *process = process_at(replay, code->pid);
	uint32_t *index = jp_truth_map_at(&replay->code_of, pair(code->pid, code->id));

	if (!process || !index)
		return -ENOMEM;
	if (replay->nr_codes >= MAX_CODES)
		return -E2BIG;
	if (!jp_truth_grow((void **)&replay->codes, &replay->room_codes, replay->nr_codes,
			   sizeof(*replay->codes)))
		return -ENOMEM;
	replay->codes[replay->nr_codes] = (struct live_code){*code, process->codes};
	process->codes = replay->nr_codes++;
	*index = replay->nr_codes;
	return 0;
}

/* The next process of the round that shares @pid's address space; @pid itself where none does. */
static uint32_t next_sharing(struct replay *replay, uint32_t pid)
{
	const struct process *process = process_at(replay, pid);

	return process ? replay->processes[process->shares].pid : pid;
}

static int add_code(struct replay *replay, const struct jp_truth_code *code)
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
static void stop_sharing(struct replay *replay, uint32_t pid)
{
	struct process *process = process_at(replay, pid), *last = process;
	uint32_t own = process - replay->processes;

	while (last->shares != own)
		last = &replay->processes[last->shares];
	last->shares = process->shares;
	process->shares = own;
}

/* The index of the code of @id that is alive in @pid, or NONE. */
static uint32_t code_of(struct replay *replay, uint32_t pid, uint64_t id)
{
	uint32_t *index =
		id <= UINT32_MAX ? jp_truth_map_at(&replay->code_of, pair(pid, id)) : NULL;

	return index && *index && *index != NONE ? *index - 1 : NONE;
}

static int load_code(struct replay *replay, const struct jp_truth_record *record)
{
	const struct jp_truth_fact *layout =
		jp_truth_fact(replay->truth, record->a[2] & UINT32_MAX, JP_TRUTH_LAYOUT);
	const struct jp_truth_fact *frames =
		jp_truth_fact(replay->truth, record->a[3] >> 32, JP_TRUTH_FRAMES);
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
	if (!jp_truth_fact(replay->truth, code.id, JP_TRUTH_CODE_LOAD) || !code.layout ||
	    (!frames && record->a[3] >> 32) || !code.name || !code.size ||
	    code.addr + code.size < code.addr ||
	    code.layout->insns[code.layout->count - 1].offset >= code.size) {
		jp_truth_disbelieve(replay->truth);
		return 0;
	}
	return add_code(replay, &code);
}

static int end_code_of(struct replay *replay, const struct jp_truth_record *record, uint32_t pid)
{
	uint32_t at = code_of(replay, pid, record->a[0]), *index;
	struct jp_truth_code *code = at == NONE ? NULL : &replay->codes[at].code, moved;
	struct process *process = process_at(replay, pid);

	if (!process)
		return -ENOMEM;
	if (!code ||
	    (record->type == JP_TRUTH_CODE_MOVE && record->a[1] + code->size < record->a[1])) {
		jp_truth_disbelieve(replay->truth);
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

static int end_code(struct replay *replay, const struct jp_truth_record *record)
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

/* Whatever the pid was is over: its stays end, and so does its code. */
static int end_life(struct replay *replay, const struct jp_truth_record *record)
{
	struct process *own = process_at(replay, record->pid);

	if (!own || !jp_truth_grow((void **)&replay->ends, &replay->room_ends, replay->nr_ends,
				   sizeof(*replay->ends)))
		return -ENOMEM;
	replay->ends[replay->nr_ends++] = (struct end){record->pid, record->before, record->after};
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

static int start_process(struct replay *replay, const struct jp_truth_record *record)
{
	bool shares = record->a[1] == JP_HOW_SHARE;
	struct process *own, *parent;
	uint32_t at;
	int ret = end_life(replay, record);

	if (ret)
		return ret;
	if (record->a[1] != JP_HOW_FORK && record->a[1] != JP_HOW_VFORK && !shares)
		return 0;
	if (record->a[0] > UINT32_MAX || record->a[0] == record->pid) {
		jp_truth_disbelieve(replay->truth);
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
static int resolve(struct replay *replay, uint32_t pid, uint64_t id, uint32_t *version)
{
	const struct jp_truth_fact *path = jp_truth_fact(replay->truth, id, JP_TRUTH_PATH);
	struct process *process = process_at(replay, pid);
	uint32_t *known, generation, depth;
	struct version *fresh;

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
	if (!jp_truth_grow((void **)&replay->versions, &replay->room_versions, replay->nr_versions,
			   sizeof(*replay->versions)))
		return -ENOMEM;
	fresh = &replay->versions[replay->nr_versions];
	*fresh = (struct version){generation, id, depth, malloc(depth * sizeof(uint32_t))};
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

static int enter(struct replay *replay, const struct jp_truth_record *record)
{
	struct jp_truth *truth = replay->truth;
	const struct jp_truth_fact *chain =
		jp_truth_fact(truth, record->a[3] & UINT32_MAX, JP_TRUTH_ROOT);
	const struct jp_truth_fact *dump = jp_truth_fact(truth, record->a[3] >> 32, JP_TRUTH_ROOT);
	struct open_stay *fresh;
	uint32_t version, *open;
	int ret = resolve(replay, record->pid, record->a[0] & UINT32_MAX, &version);

	if (ret)
		return ret;
	open = jp_truth_map_at(&replay->stay_of, record->tid);
	if (!open)
		return -ENOMEM;
	if (*open && *open != NONE) {
		struct jp_truth_stay *old = &replay->stays[*open - 1].stay;
		const struct process *process = process_at(replay, old->pid);

		/* The end of its process or image ended it (seen to at the end), or another process
		 * has its tid now; else the record of its end is missing. */
		if (old->pid != record->pid)
			old->leave = record->before;
		else if (!process || process->ended < old->enter)
			jp_truth_disbelieve(truth);
		*open = NONE;
	}
	if (!version || !chain || !dump || chain->of.root->method != JP_CHAIN ||
	    dump->of.root->method != JP_DUMP || !chain->of.root->count || !dump->of.root->count) {
		jp_truth_disbelieve(truth);
		return 0;
	}
	if (!jp_truth_grow((void **)&replay->stays, &replay->room_stays, replay->nr_stays,
			   sizeof(*replay->stays)))
		return -ENOMEM;
	fresh = &replay->stays[replay->nr_stays++];
	*fresh = (struct open_stay){{.pid = record->pid,
				     .tid = record->tid,
				     .enter = record->before,
				     .leave = UINT64_MAX,
				     .sp = record->a[1],
				     .bp = record->a[2],
				     .apart = record->a[0] >> 32 & JP_ENTER_APART,
				     .root = {chain->of.root, dump->of.root}},
				    version - 1,
				    record->a[0] >> 32 & JP_ENTER_OVER};
	*open = replay->nr_stays;
	return 0;
}

static int leave(struct replay *replay, const struct jp_truth_record *record)
{
	uint32_t *open = jp_truth_map_at(&replay->stay_of, record->tid);
	struct open_stay *stay;

	if (!open)
		return -ENOMEM;
	stay = *open && *open != NONE ? &replay->stays[*open - 1] : NULL;
	if (!stay || stay->stay.pid != record->pid ||
	    replay->versions[stay->path].id != record->a[0]) {
		jp_truth_disbelieve(replay->truth);
		return 0;
	}
	stay->stay.leave = record->after;
	stay->stay.unsteady = record->a[1] & JP_LEAVE_CHANGED;
	stay->stay.interrupted = record->a[1] & JP_LEAVE_INTERRUPTED;
	stay->stay.interrupted_ip = record->a[2];
	stay->stay.interrupted_sp = record->a[3];
	*open = NONE;
	return 0;
}

static int apply(struct replay *replay, const struct jp_truth_record *record)
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
		return ret ? ret : jp_truth_add_act(replay->truth, &replay->room_acts, record);
	case JP_TRUTH_PROCESS_EXIT:
		ret = end_life(replay, record);
		return ret ? ret : jp_truth_add_act(replay->truth, &replay->room_acts, record);
	case JP_TRUTH_TEXT:
	case JP_TRUTH_LAYOUT:
	case JP_TRUTH_PATH:
	case JP_TRUTH_ROOT:
	case JP_TRUTH_FRAMES:
	case JP_TRUTH_FILE: /* jp_truth_give_files() */
		return 0;
	default:
		return jp_truth_add_act(replay->truth, &replay->room_acts, record);
	}
}

static int by_place(const void *a, const void *b)
{
	const struct jp_truth_code *one = &(*(struct live_code *const *)a)->code;
	const struct jp_truth_code *other = &(*(struct live_code *const *)b)->code;

	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	if (one->addr != other->addr)
		return one->addr < other->addr ? -1 : 1;
	return one->loaded < other->loaded ? -1 : one->loaded > other->loaded;
}

/* Sorts the codes and turns the versions' indices into pointers to them. */
static int give_codes(struct replay *replay)
{
	struct jp_truth *truth = replay->truth;
	size_t count = replay->nr_codes;
	struct live_code **order = calloc(count + 1, sizeof(*order));
	uint32_t *sorted = calloc(count + 1, sizeof(*sorted));
	uint64_t reach = 0;
	int ret = -ENOMEM;

	truth->codes = calloc(count + 1, sizeof(*truth->codes));
	truth->tables->code_reach = calloc(count + 1, sizeof(uint64_t));
	truth->paths = calloc(replay->nr_versions + 1, sizeof(*truth->paths));
	if (!order || !sorted || !truth->codes || !truth->tables->code_reach || !truth->paths)
		goto out;
	for (size_t i = 0; i < count; i++)
		order[i] = &replay->codes[i];
	qsort(order, count, sizeof(*order), by_place);
	for (size_t i = 0; i < count; i++) {
		const struct jp_truth_code *code = &order[i]->code;

		truth->codes[i] = *code;
		sorted[order[i] - replay->codes] = i;
		if (!i || code->pid != truth->codes[i - 1].pid)
			reach = 0;
		if (reach < code->addr + code->size)
			reach = code->addr + code->size;
		truth->tables->code_reach[i] = reach;
	}
	truth->nr_codes = count;
	for (size_t i = 0; i < replay->nr_versions; i++) {
		const struct version *version = &replay->versions[i];
		struct jp_truth_path *path = &truth->paths[i];

		path->id = version->id;
		path->depth = version->depth;
		path->functions = jp_truth_alloc(truth, version->depth, sizeof(*path->functions));
		if (!path->functions)
			goto out;
		for (uint32_t d = 0; d < version->depth; d++)
			path->functions[d] = &truth->codes[sorted[version->codes[d]]];
	}
	truth->nr_paths = replay->nr_versions;
	ret = 0;
out:
	free(order);
	free(sorted);
	return ret;
}

static int by_pid(const void *a, const void *b)
{
	const struct end *one = a, *other = b;

	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	return one->before < other->before ? -1 : one->before > other->before;
}

/* When the first end of @pid from @time on was over; UINT64_MAX: none. */
static uint64_t end_after(const struct replay *replay, uint32_t pid, uint64_t time)
{
	size_t low = 0, high = replay->nr_ends;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct end *end = &replay->ends[middle];

		if (end->pid < pid || (end->pid == pid && end->before < time))
			low = middle + 1;
		else
			high = middle;
	}
	return low < replay->nr_ends && replay->ends[low].pid == pid ? replay->ends[low].after
								     : UINT64_MAX;
}

static int by_tid(const void *a, const void *b)
{
	const struct jp_truth_stay *one = a, *other = b;

	if (one->tid != other->tid)
		return one->tid < other->tid ? -1 : 1;
	return one->enter < other->enter ? -1 : one->enter > other->enter;
}

/* What a handler's stays lie over: its thread's last one before that was interrupted. */
static void give_interrupted(struct jp_truth *truth)
{
	const struct jp_truth_stay *last = NULL;

	for (size_t i = 0; i < truth->nr_stays; i++) {
		struct jp_truth_stay *stay = &truth->stays[i];

		if (last && (last->tid != stay->tid || last->pid != stay->pid))
			last = NULL;
		if (stay->over) {
			stay->over = last;
			if (!last)
				jp_truth_disbelieve(truth);
		}
		if (stay->interrupted)
			last = stay;
	}
}

static int give_stays(struct replay *replay)
{
	struct jp_truth *truth = replay->truth;

	truth->stays = calloc(replay->nr_stays + 1, sizeof(*truth->stays));
	if (!truth->stays)
		return -ENOMEM;
	if (replay->nr_ends) /* qsort() wants an array even of nothing */
		qsort(replay->ends, replay->nr_ends, sizeof(*replay->ends), by_pid);
	for (size_t i = 0; i < replay->nr_stays; i++) {
		struct jp_truth_stay *stay = &truth->stays[i];

		*stay = replay->stays[i].stay;
		stay->path = &truth->paths[replay->stays[i].path];
		/* Found when they are sorted; until then, that there is one. */
		stay->over = replay->stays[i].over ? stay : NULL;
		if (stay->leave == UINT64_MAX)
			stay->leave = end_after(replay, stay->pid, stay->enter);
	}
	truth->nr_stays = replay->nr_stays;
	qsort(truth->stays, truth->nr_stays, sizeof(*truth->stays), by_tid);
	/* A thread is in one place at a time: the search relies on it. */
	for (size_t i = 1; i < truth->nr_stays; i++)
		if (truth->stays[i].tid == truth->stays[i - 1].tid &&
		    truth->stays[i - 1].leave > truth->stays[i].enter)
			truth->stays[i - 1].leave = truth->stays[i].enter;
	give_interrupted(truth);
	return 0;
}

int jp_truth_replay(struct jp_truth *truth, const char *path, struct jp_error *err)
{
	struct replay replay = {.truth = truth};
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
		ret = give_codes(&replay);
	if (!ret)
		ret = give_stays(&replay);
	if (ret && ret != -E2BIG)
		jp_fail(err, -ret, "%s: no memory", path);
	for (size_t i = 0; i < replay.nr_versions; i++)
		free(replay.versions[i].codes);
	free(replay.codes);
	free(replay.processes);
	free(replay.stays);
	free(replay.versions);
	free(replay.ends);
	jp_truth_map_free(&replay.process_of);
	jp_truth_map_free(&replay.code_of);
	jp_truth_map_free(&replay.version_of);
	jp_truth_map_free(&replay.stay_of);
	return ret;
}
