// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/space/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Names and build ids are few and repeat: kept once, for the life of the replay. */
struct text {
	struct text *next;
	size_t size;
	char bytes[];
};

struct space {
	uint32_t pid;
	struct jp_mapping *mappings; /* by start, disjoint */
	size_t count, capacity;
	size_t last; /* index of the mapping found last */
	uint64_t generation;
	char comm[64]; /* 16 of the kernel's own, up to 64 of a kworker in /proc/PID/comm */
	struct space *next;
	struct space *shares; /* the next of those with the same address space, round */
};

enum { BUCKETS = 1024 };
struct jp_replay {
	struct space *spaces[BUCKETS];
	struct space *last;
	struct text *texts[BUCKETS];
	uint64_t generations;
};

enum jp_backing jp_mapping_backing(const char *name)
{
	static const struct {
		const char *prefix;
		enum jp_backing backing;
	} prefixes[] = {
		{"//anon", JP_BACKING_ANON},       {"[anon:", JP_BACKING_ANON},
		{"[anon_shmem:", JP_BACKING_ZERO}, {"/memfd:", JP_BACKING_MEMFD},
		{"/dev/zero", JP_BACKING_ZERO},    {"/SYSV", JP_BACKING_SYSV},
		{"/dev/shm/", JP_BACKING_SHM},     {"/anon_hugepage", JP_BACKING_HUGETLB},
		{"[heap]", JP_BACKING_HEAP},       {"[stack", JP_BACKING_ANON},
	};

	if (!*name)
		return JP_BACKING_ANON;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)) == 0)
			return prefixes[i].backing;
	return JP_BACKING_FILE;
}

struct jp_replay *jp_replay_new(void)
{
	return calloc(1, sizeof(struct jp_replay));
}

void jp_replay_free(struct jp_replay *replay)
{
	if (!replay)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (replay->spaces[i]) {
			struct space *space = replay->spaces[i];

			replay->spaces[i] = space->next;
			free(space->mappings);
			free(space);
		}
		while (replay->texts[i]) {
			struct text *text = replay->texts[i];

			replay->texts[i] = text->next;
			free(text);
		}
	}
	free(replay);
}

/* @size bytes of @bytes, kept once; NULL: no memory. A NUL stands behind them. */
static const char *keep(struct jp_replay *replay, const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;
	uint32_t hash = 2166136261u;
	struct text *text;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * 16777619u;
	for (text = replay->texts[hash % BUCKETS]; text; text = text->next)
		if (text->size == size && memcmp(text->bytes, bytes, size) == 0)
			return text->bytes;
	text = malloc(sizeof(*text) + size + 1);
	if (!text)
		return NULL;
	text->size = size;
	memcpy(text->bytes, bytes, size);
	text->bytes[size] = 0;
	text->next = replay->texts[hash % BUCKETS];
	replay->texts[hash % BUCKETS] = text;
	return text->bytes;
}

const char *jp_replay_text(struct jp_replay *replay, const char *text)
{
	return keep(replay, text, strlen(text));
}

static struct space *find_space(struct jp_replay *replay, uint32_t pid)
{
	struct space *space = replay->last;

	if (space && space->pid == pid)
		return space;
	for (space = replay->spaces[pid % BUCKETS]; space; space = space->next)
		if (space->pid == pid)
			return replay->last = space;
	return NULL;
}

static struct space *make_space(struct jp_replay *replay, uint32_t pid)
{
	struct space *space = find_space(replay, pid);

	if (space)
		return space;
	space = calloc(1, sizeof(*space));
	if (!space)
		return NULL;
	space->pid = pid;
	space->shares = space;
	space->generation = ++replay->generations;
	space->next = replay->spaces[pid % BUCKETS];
	replay->spaces[pid % BUCKETS] = space;
	return space;
}

static void changed(struct jp_replay *replay, struct space *space)
{
	space->generation = ++replay->generations;
	space->last = 0;
}

/* From now on it is alone. */
static void stop_sharing(struct space *space)
{
	struct space *last = space;

	while (last->shares != space)
		last = last->shares;
	last->shares = space->shares;
	space->shares = space;
}

/* Index of the first mapping that ends after @addr. */
static size_t first_after(const struct space *space, uint64_t addr)
{
	size_t low = 0, high = space->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (space->mappings[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int ensure_capacity(struct space *space, size_t count)
{
	struct jp_mapping *bigger;
	size_t capacity = space->capacity ? space->capacity : 16;

	while (capacity < count)
		capacity *= 2;
	if (capacity == space->capacity)
		return 0;
	bigger = realloc(space->mappings, capacity * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	space->mappings = bigger;
	space->capacity = capacity;
	return 0;
}

/* Frees [@start, @end) of whatever lies there and returns where a mapping of that range belongs, or
 * -ENOMEM. What sticks out on either side stays, its file offset moved along. */
static ssize_t cut(struct space *space, uint64_t start, uint64_t end)
{
	size_t from = first_after(space, start), to;
	struct jp_mapping *first;

	if (ensure_capacity(space, space->count + 2))
		return -ENOMEM;
	first = &space->mappings[from];
	if (from < space->count && first->start < start) {
		if (first->end > end) { /* a hole in one mapping: its upper part becomes another */
			memmove(first + 1, first, (space->count - from) * sizeof(*first));
			space->count++;
			first[1].pgoff += end - first[1].start;
			first[1].start = end;
			first->end = start;
			return from + 1;
		}
		first->end = start;
		from++;
	}
	for (to = from; to < space->count && space->mappings[to].end <= end; to++)
		;
	if (to < space->count && space->mappings[to].start < end) {
		space->mappings[to].pgoff += end - space->mappings[to].start;
		space->mappings[to].start = end;
	}
	memmove(&space->mappings[from], &space->mappings[to],
		(space->count - to) * sizeof(*space->mappings));
	space->count -= to - from;
	return from;
}

/* An inode's number may be given to another file once the first is gone. */
static bool same_generation(uint64_t one, uint64_t other)
{
	return !one || !other || one == other;
}

static int apply_map_to(struct jp_replay *replay, const struct jp_event *event)
{
	struct jp_mapping mapping = {
		.start = event->map.addr,
		.end = event->map.addr + event->map.len,
		.pgoff = event->map.pgoff,
		.since = event->time,
		.pid = event->pid,
		.at = event->at,
		.prot = event->map.prot & 7,
		.flags = event->map.flags,
		.backing = jp_mapping_backing(event->map.name),
	};
	struct jp_mapping *same;
	struct space *space;
	ssize_t index;

	if (event->kernel_map || mapping.end <= mapping.start)
		return 0;
	space = make_space(replay, event->pid);
	mapping.name = keep(replay, event->map.name, strlen(event->map.name));
	if (!space || !mapping.name)
		return -ENOMEM;
	if (event->map.has_identity) {
		mapping.maj = event->map.maj;
		mapping.min = event->map.min;
		mapping.ino = event->map.ino;
		mapping.gen = event->map.gen;
	}
	if (event->map.build_id && event->map.build_id_size <= 20) {
		mapping.build_id = (const unsigned char *)keep(replay, event->map.build_id,
							       event->map.build_id_size);
		if (!mapping.build_id)
			return -ENOMEM;
		mapping.build_id_size = event->map.build_id_size;
	}
	/* The synthesized and the live record of one mapping are one: known since the first. */
	same = jp_replay_find(replay, event->pid, mapping.start);
	if (same && same->start == mapping.start && same->end == mapping.end &&
	    same->pgoff == mapping.pgoff && same->ino == mapping.ino &&
	    same->name == mapping.name && same->maj == mapping.maj && same->min == mapping.min &&
	    same->prot == mapping.prot && same_generation(same->gen, mapping.gen)) {
		same->pid = mapping.pid;
		/* Or it is another file of that number, which only now is told: whoever looked the
		 * old one up must look again. */
		if (!same->gen && mapping.gen) {
			same->gen = mapping.gen;
			same->file = NULL;
			changed(replay, space);
		}
		if (mapping.build_id) {
			same->build_id = mapping.build_id;
			same->build_id_size = mapping.build_id_size;
		}
		return 0;
	}
	index = cut(space, mapping.start, mapping.end);
	if (index < 0)
		return index;
	memmove(&space->mappings[index + 1], &space->mappings[index],
		(space->count - index) * sizeof(mapping));
	space->mappings[index] = mapping;
	space->count++;
	changed(replay, space);
	return 0;
}

static int apply_map(struct jp_replay *replay, const struct jp_event *event)
{
	struct jp_event one = *event;
	int failed;

	do {
		failed = apply_map_to(replay, &one);
		one.pid = jp_replay_sharing(replay, one.pid);
	} while (!failed && one.pid != event->pid);
	return failed;
}

/* What @parent has, @child has too. */
static int copy_space(struct jp_replay *replay, struct space *child, const struct space *parent)
{
	child->count = 0;
	changed(replay, child);
	if (ensure_capacity(child, parent->count))
		return -ENOMEM;
	if (parent->count)
		memcpy(child->mappings, parent->mappings, parent->count * sizeof(*child->mappings));
	child->count = parent->count;
	return 0;
}

static int apply_fork(struct jp_replay *replay, const struct jp_event *event)
{
	struct space *parent, *child;

	if (event->pid == event->task.ppid) /* a thread: shares */
		return 0;
	child = make_space(replay, event->pid);
	if (!child)
		return -ENOMEM;
	/* perf synthesizes FORK at time 0 for tasks that exist: their maps may stand in the file
	 * before it, and are the better knowledge. */
	if (event->time == 0 && child->count)
		return 0;
	parent = find_space(replay, event->task.ppid);
	stop_sharing(child);
	child->count = 0;
	changed(replay, child);
	if (!parent)
		return 0;
	memcpy(child->comm, parent->comm, sizeof(child->comm));
	return copy_space(replay, child, parent);
}

static int apply_comm(struct jp_replay *replay, const struct jp_event *event)
{
	struct space *space = make_space(replay, event->pid);

	if (!space)
		return -ENOMEM;
	if (event->pid == event->tid || event->comm.exec) {
		strncpy(space->comm, event->comm.name, sizeof(space->comm) - 1);
		space->comm[sizeof(space->comm) - 1] = 0;
	}
	if (event->comm.exec) {
		stop_sharing(space);
		space->count = 0;
		changed(replay, space);
	}
	return 0;
}

int jp_replay_apply(struct jp_replay *replay, const struct jp_event *event)
{
	switch (event->type) {
	case JP_EVENT_MAP:
		return apply_map(replay, event);
	case JP_EVENT_FORK:
		return apply_fork(replay, event);
	case JP_EVENT_COMM:
		return apply_comm(replay, event);
	default: /* EXIT too: other threads may go on after the first, and a new life begins with
		    FORK */
		return 0;
	}
}

int jp_replay_cut(struct jp_replay *replay, uint32_t pid, uint64_t addr, uint64_t len)
{
	struct space *first = find_space(replay, pid), *space = first;

	if (!space || addr + len <= addr)
		return 0;
	do {
		ssize_t index = cut(space, addr, addr + len);

		changed(replay, space);
		if (index < 0)
			return (int)index;
		space = space->shares;
	} while (space != first);
	return 0;
}

int jp_replay_share(struct jp_replay *replay, uint32_t pid, uint32_t with)
{
	struct space *space = make_space(replay, pid), *other = make_space(replay, with), *next;

	if (!space || !other)
		return -ENOMEM;
	stop_sharing(space);
	if (space == other)
		return 0;
	memcpy(space->comm, other->comm, sizeof(space->comm));
	next = other->shares;
	other->shares = space;
	space->shares = next;
	return copy_space(replay, space, other);
}

uint32_t jp_replay_sharing(const struct jp_replay *replay, uint32_t pid)
{
	for (const struct space *space = replay->spaces[pid % BUCKETS]; space; space = space->next)
		if (space->pid == pid)
			return space->shares->pid;
	return pid;
}

struct jp_mapping *jp_replay_find(struct jp_replay *replay, uint32_t pid, uint64_t addr)
{
	struct space *space = find_space(replay, pid);
	size_t index;

	if (!space || !space->count)
		return NULL;
	index = space->last;
	if (addr < space->mappings[index].start || addr >= space->mappings[index].end) {
		index = first_after(space, addr);
		if (index == space->count || addr < space->mappings[index].start)
			return NULL;
		space->last = index;
	}
	return &space->mappings[index];
}

struct jp_mapping *jp_replay_from(struct jp_replay *replay, uint32_t pid, uint64_t addr)
{
	struct space *space = find_space(replay, pid);
	size_t index = space ? first_after(space, addr) : 0;

	return space && index < space->count ? &space->mappings[index] : NULL;
}

const char *jp_replay_comm(const struct jp_replay *replay, uint32_t pid)
{
	for (const struct space *space = replay->spaces[pid % BUCKETS]; space; space = space->next)
		if (space->pid == pid)
			return space->comm;
	return "";
}

struct jp_mapping *jp_replay_mappings(struct jp_replay *replay, uint32_t pid, size_t *count)
{
	struct space *space = find_space(replay, pid);

	*count = space ? space->count : 0;
	return space ? space->mappings : NULL;
}

uint64_t jp_replay_generation(const struct jp_replay *replay, uint32_t pid)
{
	for (const struct space *space = replay->spaces[pid % BUCKETS]; space; space = space->next)
		if (space->pid == pid)
			return space->generation;
	return 0;
}
