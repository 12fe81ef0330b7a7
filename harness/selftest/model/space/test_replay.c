// SPDX-License-Identifier: GPL-2.0-only
/* Each rule by which events become address spaces, by what a wrong rule would get wrong. */
#include "harness/model/space/mapping_name.h"
#include "harness/model/space/replay.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"

enum { PAGE = 0x1000, RX = JP_PROT_READ | JP_PROT_EXEC };

static struct jp_replay *replay;
static bool there; /* what fork_of() says of the child */

static void anew(void)
{
	jp_replay_free(replay);
	replay = jp_replay_new();
}

static int map(uint32_t pid, uint64_t addr, uint64_t len, uint64_t pgoff, const char *name,
	       uint64_t time)
{
	const struct jp_event event = MADE_EVENT(
		MAP, pid, time,
		.map = {.addr = addr, .len = len, .pgoff = pgoff, .prot = RX, .name = name});

	return jp_replay_apply(replay, &event);
}

static int fork_of(uint32_t pid, uint32_t tid, uint32_t ppid, uint64_t time)
{
	struct jp_event event =
		MADE_EVENT(FORK, pid, time, .task = {.ppid = ppid, .ptid = ppid, .there = there});

	event.tid = tid;
	return jp_replay_apply(replay, &event);
}

static int comm(uint32_t pid, uint32_t tid, const char *name, bool exec)
{
	struct jp_event event = MADE_EVENT(COMM, pid, 1, .comm = {.name = name, .exec = exec});

	event.tid = tid;
	return jp_replay_apply(replay, &event);
}

/* As the truth tells it: perf.data does not know who shares, nor the end of a process. */
static int task(enum jp_event_type type, uint32_t pid, uint32_t ppid)
{
	struct jp_event event =
		MADE_EVENT(FORK, pid, 1, .task = {.ppid = ppid, .how = JP_HOW_SHARE});

	event.type = type;
	return jp_replay_apply(replay, &event);
}

/* Whether @addr of @pid lies in [@start, @end) at file offset @pgoff of @name. */
static bool is(uint32_t pid, uint64_t addr, uint64_t start, uint64_t end, uint64_t pgoff,
	       const char *name)
{
	const struct jp_mapping *found = jp_replay_find(replay, pid, addr);

	return found && found->start == start && found->end == end && found->pgoff == pgoff &&
	       strcmp(found->name, name) == 0;
}

static uint32_t prot(uint64_t addr)
{
	return jp_replay_find(replay, 1, addr)->prot;
}

static bool none(uint32_t pid, uint64_t addr)
{
	return !jp_replay_find(replay, pid, addr);
}

/* All mappings of @pid, as START-END+OFFSETNAME. */
static void has(uint32_t pid, const char *expected, const char *what)
{
	char text[256] = "";
	size_t used = 0;

	for (const struct jp_mapping *map = jp_replay_from(replay, pid, 0);
	     map && used < sizeof(text); map = jp_replay_from(replay, pid, map->end))
		used += snprintf(text + used, sizeof(text) - used, "%s%lx-%lx+%lx%s",
				 used ? " " : "", (long)map->start, (long)map->end,
				 (long)map->pgoff, map->name);
	check(!strcmp(text, expected), "%s: %s", what, text);
}

static size_t count(uint32_t pid)
{
	size_t nr = 0;

	for (const struct jp_mapping *map = jp_replay_from(replay, pid, 0); map;
	     map = jp_replay_from(replay, pid, map->end))
		nr++;
	return nr;
}

static void test_bounds(void)
{
	check(none(1, 0x1000), "an unknown process has no mapping");
	map(1, 0x1000, PAGE, 0, "/a", 1);
	map(1, 0x2000, PAGE, 0, "/b", 2);
	map(1, 0x4000, PAGE, 0, "/c", 3);
	check(none(1, 0xfff), "the byte before a mapping is outside");
	check(is(1, 0x1000, 0x1000, 0x2000, 0, "/a"), "its first byte is inside");
	check(is(1, 0x1fff, 0x1000, 0x2000, 0, "/a"), "its last byte is inside");
	check(is(1, 0x2000, 0x2000, 0x3000, 0, "/b"), "its end belongs to the next");
	check(none(1, 0x3000), "the end of a mapping with none after it is outside");
	check(none(1, 0x3fff) && none(1, 0x5000), "so are the edges of a hole");
	check(is(1, 0x4000, 0x4000, 0x5000, 0, "/c") && is(1, 0x1000, 0x1000, 0x2000, 0, "/a"),
	      "looking up works in any order");
	has(2, "", "another process has none of it");
}

static void test_sizes(void)
{
	map(1, 0x1000, 0, 0, "/empty", 1);
	has(1, "", "an empty mapping is none");
	map(1, UINT64_MAX - PAGE, 2 * PAGE, 0, "/around", 1);
	check(none(1, UINT64_MAX - 1) && none(1, 0), "nor one around the end of addresses");
}

static void test_cut(void)
{
	map(1, 0x10000, 0x4000, 0x7000, "/old", 1);
	map(1, 0xf000, 0x2000, 0, "/left", 2);
	has(1, "f000-11000+0/left 11000-14000+8000/old",
	    "the later record wins; cut on the left, the rest's offset moves along");
	map(1, 0x13000, 0x2000, 0, "/right", 3);
	has(1, "f000-11000+0/left 11000-13000+8000/old 13000-15000+0/right",
	    "cut on the right, its offset stays");
	anew();
	map(1, 0x10000, 0x4000, 0x7000, "/old", 1);
	map(1, 0x11000, PAGE, 0x500000, "/new", 2);
	has(1, "10000-11000+7000/old 11000-12000+500000/new 12000-14000+9000/old",
	    "cut in the middle: below, and above, moved along");
	map(1, 0xf000, 0x10000, 0, "/all", 3);
	has(1, "f000-1f000+0/all", "one that covers all replaces all");
	anew();
	map(1, 0x10000, PAGE, 0, "/a", 1);
	map(1, 0x11000, PAGE, 0, "/b", 1);
	map(1, 0x12000, PAGE, 0, "/c", 1);
	map(1, 0x10800, 0x2000, 0, "/over", 2);
	has(1, "10000-10800+0/a 10800-12800+0/over 12800-13000+800/c",
	    "one over three: the middle one is gone, the others are cut");
}

static void test_unmap(void)
{
	map(1, 0x10000, 0x4000, 0x7000, "/a", 1);
	jp_replay_cut(replay, 1, 0x11000, PAGE);
	has(1, "10000-11000+7000/a 12000-14000+9000/a", "a hole is a hole");
	jp_replay_cut(replay, 2, 0x10000, PAGE);
	jp_replay_cut(replay, 1, 0x10000, 0);
	has(1, "10000-11000+7000/a 12000-14000+9000/a",
	    "another process's end, or an empty one, takes nothing");
	jp_replay_cut(replay, 1, 0, UINT64_MAX);
	has(1, "", "the end of the process takes all");
}

static void test_fork(void)
{
	map(1, 0x1000, PAGE, 0, "/shared", 1);
	comm(1, 1, "parent", false);
	fork_of(2, 2, 1, 5);
	has(2, "1000-2000+0/shared", "a child has its parent's");
	check(strcmp(jp_replay_comm(replay, 2), "parent") == 0, "and its name");
	map(2, 0x1000, PAGE, 0, "/child's", 6);
	map(1, 0x3000, PAGE, 0, "/parent's", 7);
	has(1, "1000-2000+0/shared 3000-4000+0/parent's", "what it maps stays its own");
	has(2, "1000-2000+0/child's", "what the parent maps later too");
	fork_of(1, 9, 1, 8);
	has(1, "1000-2000+0/shared 3000-4000+0/parent's", "a thread changes nothing");
	fork_of(2, 2, 1, 9);
	has(2, "1000-2000+0/shared 3000-4000+0/parent's", "a pid that is used again starts anew");
	fork_of(3, 3, 77, 10);
	has(3, "", "of an unknown parent nothing is inherited");
}

static void test_synthesized_fork(void)
{
	comm(1, 1, "parent", false);
	map(1, 0x1000, PAGE, 0, "/parent's", 0);
	map(2, 0x5000, PAGE, 0, "/own", 0);
	fork_of(2, 2, 1, 0);
	has(2, "5000-6000+0/own", "a FORK synthesized at 0 does not undo what is known");
	fork_of(3, 3, 1, 0);
	has(3, "1000-2000+0/parent's", "where nothing is known it gives the parent's");
	there = true;
	fork_of(4, 4, 1, 0);
	there = false;
	check(none(4, 0x1000) && strcmp(jp_replay_comm(replay, 4), "parent") == 0,
	      "of a task that was there already, it gives no memory");
	fork_of(2, 2, 1, 1);
	has(2, "1000-2000+0/parent's", "a live one does");
}

static void test_exec(void)
{
	map(1, 0x1000, PAGE, 0, "/a", 1);
	comm(1, 4, "thread", false);
	check(strcmp(jp_replay_comm(replay, 1), "") == 0, "a thread's name is not the process's");
	/* /proc/PID/comm shows a kworker's work, too: longer than what the kernel records. */
	comm(1, 1, "kworker/u8:0-ext4-rsv-conversion", false);
	check(strcmp(jp_replay_comm(replay, 1), "kworker/u8:0-ext4-rsv-conversion") == 0,
	      "a kworker's name is kept whole");
	comm(1, 1, "renamed", false);
	has(1, "1000-2000+0/a", "a new name changes no mapping");
	fork_of(2, 2, 1, 2);
	comm(1, 1, "other", true);
	has(1, "", "an exec forgets all");
	check(strcmp(jp_replay_comm(replay, 1), "other") == 0, "but knows its name");
	has(2, "1000-2000+0/a", "the child is not touched");
}

static void test_duplicates(void)
{
	uint64_t generation;

	map(1, 0x1000, PAGE, 0, "/a", 10);
	generation = jp_replay_generation(replay, 1);
	map(1, 0x1000, PAGE, 0, "/a", 50);
	check(jp_replay_find(replay, 1, 0x1000)->since == 10 && count(1) == 1,
	      "a record that says the same again is no new mapping");
	check(jp_replay_generation(replay, 1) == generation, "nothing changed by it");
	map(1, 0x1000, PAGE, PAGE, "/a", 60);
	check(jp_replay_find(replay, 1, 0x1000)->since == 60 &&
		      jp_replay_find(replay, 1, 0x1000)->pgoff == PAGE,
	      "with another offset it is");
	check(jp_replay_generation(replay, 1) != generation, "and something changed");
	map(1, 0x1000, PAGE, PAGE, "/b", 70);
	check(is(1, 0x1000, 0x1000, 0x2000, PAGE, "/b"), "with another name too");
}

static void test_protection(void)
{
	struct jp_event event =
		MADE_EVENT(MAP, 1, 2, MADE_MAP(0x1000, PAGE, JP_PROT_READ, "/data"));

	map(1, 0x1000, 2 * PAGE, 0, "/code", 1);
	jp_replay_apply(replay, &event);
	has(1, "1000-2000+0/data 2000-3000+1000/code", "what is not executable cuts too");
	check(prot(0x1000) == JP_PROT_READ, "and keeps its protection");
	event.kernel_map = true;
	event.map.addr = 0x2000;
	jp_replay_apply(replay, &event);
	has(1, "1000-2000+0/data 2000-3000+1000/code", "the kernel's own does not");
}

static void test_backing(void)
{
	static const struct {
		const char *name;
		enum jp_backing backing;
	} names[] = {
		{"", JP_BACKING_ANON},
		{"//anon", JP_BACKING_ANON},
		{"[anon:v8]", JP_BACKING_ANON},
		{"/memfd:doublemapper (deleted)", JP_BACKING_MEMFD},
		{"/dev/ashmem/dalvik-jit-code-cache (deleted)", JP_BACKING_MEMFD},
		{"/run/user/1000/orcexec.aB3dEf (deleted)", JP_BACKING_MEMFD},
		{"/dev/shm/ffiaB3dEf (deleted)", JP_BACKING_MEMFD},
		{"/tmp/#1234 (deleted)", JP_BACKING_MEMFD},
		{"/tmp/orcexec.aB3dEf", JP_BACKING_FILE},
		{"/tmp/ffi (deleted)", JP_BACKING_FILE},
		{"/tmp/ffisomething (deleted)", JP_BACKING_FILE},
		{"/tmp/# (deleted)", JP_BACKING_FILE},
		{"/tmp/#1a (deleted)", JP_BACKING_FILE},
		{"/dev/zero (deleted)", JP_BACKING_ZERO},
		{"/SYSV00000000 (deleted)", JP_BACKING_SYSV},
		{"/dev/shm/x", JP_BACKING_SHM},
		{"/dev/shm/run/library.so", JP_BACKING_FILE},
		{"/anon_hugepage (deleted)", JP_BACKING_HUGETLB},
		{"[heap]", JP_BACKING_HEAP},
		{"[vdso]", JP_BACKING_FILE},
		{"/memfd", JP_BACKING_FILE},
		{"/usr/lib/libc.so.6", JP_BACKING_FILE},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check(jp_mapping_backing(names[i].name) == names[i].backing, "the backing of '%s'",
		      names[i].name);
	check(jp_mapping_same_name("/a", "/a") && jp_mapping_same_name("/a", "/a (deleted)") &&
		      jp_mapping_same_name("/a (deleted)", "/a") &&
		      jp_mapping_same_name("/a (deleted)", "/a (deleted) (deleted)") &&
		      !jp_mapping_same_name("/a", "/b") && !jp_mapping_same_name("/a", "/ab") &&
		      !jp_mapping_same_name("/a", "/b (deleted)") &&
		      !jp_mapping_same_name("/a", "/a (deletee)"),
	      "a removed file keeps its name");
	check(jp_mapping_name_length("/a (deleted)") == 2 && jp_mapping_name_length("/a") == 2 &&
		      jp_mapping_name_length(" (deleted)") == 10,
	      "and some name there must be");
}

/* Many random records against the plainest possible model: an array of pages. */
static void test_against_pages(void)
{
	enum { PAGES = 64, ROUNDS = 3000, FREE = 0xff };
	static unsigned char name_of[PAGES];
	static uint64_t pgoff_of[PAGES];
	uint64_t state = 88172645463325252u;
	unsigned int wrong = 0;

	memset(name_of, FREE, sizeof(name_of));
	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t pgoff = (uint64_t)round * 0x100000;
		unsigned int start, size;
		char name[8];

		check_random(&state);
		start = state % PAGES;
		size = 1 + (state >> 16) % (PAGES - start);
		snprintf(name, sizeof(name), "/%u", round % 100);
		if (state >> 60 < 3) {
			jp_replay_cut(replay, 1, start * PAGE, (uint64_t)size * PAGE);
			memset(name_of + start, FREE, size);
		} else {
			map(1, start * PAGE, (uint64_t)size * PAGE, pgoff, name, round);
			memset(name_of + start, round % 100, size);
			for (unsigned int page = start; page < start + size; page++)
				pgoff_of[page] = pgoff + (page - start) * PAGE;
		}
		for (unsigned int page = 0; page < PAGES; page++) {
			const struct jp_mapping *found = jp_replay_find(replay, 1, page * PAGE);

			snprintf(name, sizeof(name), "/%u", name_of[page]);
			if (name_of[page] == FREE || !found)
				wrong += name_of[page] != FREE || found;
			else
				wrong +=
					strcmp(found->name, name) ||
					page * PAGE - found->start + found->pgoff != pgoff_of[page];
		}
	}
	check(!wrong, "%d random records leave what an array of pages holds (%u pages differ)",
	      ROUNDS, wrong);
}

/* The same with processes that fork from each other, and so many mappings that they fill blocks: no
 * process sees what another does to the mappings that they share until then. */
static void test_forks_against_pages(void)
{
	enum { PAGES = 2048, PIDS = 4, ROUNDS = 40000 };
	static uint64_t pgoff_of[PIDS][PAGES]; /* 0: nothing */
	uint64_t state = 88172645463325252u;
	unsigned int wrong = 0;

	for (unsigned int round = 1; round < ROUNDS; round++) {
		unsigned int pid, start, size, parent;

		check_random(&state);
		pid = state % PIDS;
		start = (state >> 8) % PAGES;
		size = (state >> 24) % 64 ? 1 : (state >> 32) % (PAGES - start);
		parent = (state >> 48) % PIDS;
		if ((state >> 52) % 64 == 0 && parent != pid) {
			fork_of(1 + pid, 1 + pid, 1 + parent, round);
			memcpy(pgoff_of[pid], pgoff_of[parent], sizeof(pgoff_of[pid]));
		} else if (state >> 60 < 3) {
			jp_replay_cut(replay, 1 + pid, start * PAGE, (uint64_t)size * PAGE);
			memset(pgoff_of[pid] + start, 0, size * sizeof(**pgoff_of));
		} else {
			uint64_t pgoff = (uint64_t)round << 32;

			map(1 + pid, start * PAGE, (uint64_t)size * PAGE, pgoff, "/x", round);
			for (unsigned int page = start; page < start + size; page++)
				pgoff_of[pid][page] = pgoff + (page - start) * PAGE;
		}
		for (pid = 0; round % 1000 == 0 && pid < PIDS; pid++)
			for (unsigned int page = 0; page < PAGES; page++) {
				const struct jp_mapping *found =
					jp_replay_find(replay, 1 + pid, page * PAGE);

				wrong += (found ? page * PAGE - found->start + found->pgoff : 0) !=
					 pgoff_of[pid][page];
			}
	}
	check(!wrong, "and so do %d of processes that fork (%u pages differ)", ROUNDS, wrong);
}

/* n log n, whatever the order: a flat array would move 10^10 mappings here. */
static void test_descending(void)
{
	enum { MAPPINGS = 200000 };
	for (uint64_t i = MAPPINGS; i > 0; i--)
		map(1, i * 2 * PAGE, PAGE, 0, "/x", i);
	check(count(1) == MAPPINGS, "%d mappings in descending order", MAPPINGS);
	for (unsigned int pid = 2; pid < 20000; pid++)
		fork_of(pid, pid, pid - 1, pid);
	check(count(19999) == MAPPINGS, "which 20000 forks pass on");
}

/* clone(CLONE_VM): two pids, one space. */
static void test_shared_space(void)
{
	map(1, 0x1000, PAGE, 0, "/parent's", 1);
	check(jp_replay_sharing(replay, 1) == 1, "a process shares with nobody at first");
	task(JP_EVENT_FORK, 2, 1);
	has(2, "1000-2000+0/parent's", "who shares has what was there");
	check(jp_replay_sharing(replay, 1) == 2 && jp_replay_sharing(replay, 2) == 1,
	      "the two know of each other");
	map(2, 0x3000, PAGE, 0, "/child's", 2);
	check(is(1, 0x3000, 0x3000, 0x4000, 0, "/child's"), "what one maps both have");
	map(1, 0x5000, PAGE, 0, "/later", 3);
	check(is(2, 0x5000, 0x5000, 0x6000, 0, "/later"), "in both directions");
	jp_replay_cut(replay, 1, 0x1000, PAGE);
	check(none(2, 0x1000), "what one unmaps neither has");
	task(JP_EVENT_FORK, 3, 2);
	map(3, 0x7000, PAGE, 0, "/third", 4);
	check(!none(1, 0x7000) && !none(2, 0x7000), "three may share");
	comm(2, 2, "new image", true);
	check(none(2, 0x3000) && !none(1, 0x3000) && !none(3, 0x3000),
	      "an exec leaves the others what they have");
	map(2, 0x9000, PAGE, 0, "/own", 5);
	check(none(1, 0x9000) && none(3, 0x9000), "and shares no more");
	map(1, 0xb000, PAGE, 0, "/still", 6);
	check(!none(3, 0xb000), "who remains goes on sharing");
	fork_of(4, 4, 1, 7);
	map(4, 0xd000, PAGE, 0, "/forked", 8);
	check(!none(4, 0xb000) && none(1, 0xd000), "a fork of one shares nothing");
	task(JP_EVENT_END, 3, 0);
	check(none(3, 0xb000) && !none(1, 0xb000), "an exit leaves the others what they have");
	map(1, 0xf000, PAGE, 0, "/alone", 9);
	check(none(3, 0xf000) && jp_replay_sharing(replay, 1) == 1,
	      "and who is gone shares nothing");
	fork_of(1, 1, 4, 10);
	check(!none(1, 0xd000), "a pid that is used again starts anew");
}

/* One inode's number, two files, one after the other. */
static void test_generations(void)
{
	struct jp_event event =
		MADE_EVENT(MAP, 1, 1, MADE_MAP(0x1000, PAGE, JP_PROT_EXEC, "/library.so"));

	event.map.ino = 7;
	event.map.has_identity = true;
	jp_replay_apply(replay, &event);
	event.time = 2;
	event.map.gen = 100;
	jp_replay_apply(replay, &event);
	check(jp_replay_find(replay, 1, 0x1000)->since == 1 &&
		      jp_replay_find(replay, 1, 0x1000)->gen == 100,
	      "a live record adds the generation to what was synthesized");
	event.time = 3;
	event.map.gen = 101;
	jp_replay_apply(replay, &event);
	check(jp_replay_find(replay, 1, 0x1000)->since == 3 &&
		      jp_replay_find(replay, 1, 0x1000)->gen == 101,
	      "another generation is another file, whatever its number");
}

static void act(enum jp_event_type type, uint64_t addr, uint64_t len, uint64_t to, uint64_t to_len,
		uint32_t prot)
{
	struct jp_event event =
		MADE_EVENT(MAP, 1, 5, .map = {.addr = addr, .len = len, .prot = prot});

	event.type = type;
	event.map.to = to;
	event.map.to_len = to_len;
	check(!jp_replay_apply(replay, &event), "an act");
}

/* As the truth tells it: each part of what is known gets the protection, and nothing else does. */
static void test_protect(void)
{
	map(1, 0x1000, 4 * PAGE, 0x7000, "/a", 1);
	map(1, 0x8000, PAGE, 0, "/b", 1);
	act(JP_EVENT_PROTECT, 0x3000, 5 * PAGE, 0, 0, JP_PROT_READ);
	has(1, "1000-3000+7000/a 3000-5000+9000/a 8000-9000+0/b",
	    "a mapping is split, up to a hole");
	check(prot(0x3000) == JP_PROT_READ && prot(0x1000) == RX && prot(0x8000) == RX,
	      "the others stay as they are");
	act(JP_EVENT_PROTECT, 0, 10 * PAGE, 0, 0, JP_PROT_EXEC);
	check(prot(0x4000) == JP_PROT_EXEC && prot(0x8000) == JP_PROT_EXEC && none(1, 0x5000) &&
		      none(1, 0),
	      "what lies in no mapping does not become one");
	act(JP_EVENT_PROTECT, 0x6000, PAGE, 0, 0, JP_PROT_READ);
	check(none(1, 0x6000), "not even where nothing follows at once");
}

static void test_remap(void)
{
	map(1, 0x1000, 4 * PAGE, 0x7000, "/a", 1);
	act(JP_EVENT_REMAP, 0x2000, PAGE, 0x20000, 2 * PAGE, 0);
	has(1, "1000-2000+7000/a 3000-5000+9000/a 20000-22000+8000/a",
	    "a page leaves a mapping, and lies elsewhere, larger");
	check(prot(0x20000) == RX, "with all it was");
	act(JP_EVENT_REMAP, 0x6000, PAGE, 0x30000, PAGE, 0);
	check(none(1, 0x30000) && count(1) == 3, "what nobody knows moves nowhere");
	act(JP_EVENT_UNMAP, 0x20000, 0, 0, 0, 0);
	act(JP_EVENT_UNMAP, UINT64_MAX - 10, 20, 0, 0, 0);
	check(count(1) == 3, "nothing, or more than all, is not unmapped");
	act(JP_EVENT_UNMAP, 0x21000, PAGE, 0, 0, 0);
	has(1, "1000-2000+7000/a 3000-5000+9000/a 20000-21000+8000/a", "the second half is");
}

/* The second record of a mapping tells of its build id; one that is too long is none. */
static void test_build_ids(void)
{
	static const unsigned char id[21] = {1, 2, 3};
	struct jp_event event = MADE_EVENT(MAP, 1, 1, MADE_MAP(0x1000, PAGE, JP_PROT_EXEC, "/a"));
	const struct jp_mapping *found;

	jp_replay_apply(replay, &event);
	event.map.build_id = id;
	event.map.build_id_size = 21;
	jp_replay_apply(replay, &event);
	check(!jp_replay_find(replay, 1, 0x1000)->build_id, "one of 21 bytes is none");
	event.map.build_id_size = 20;
	event.time = 2;
	jp_replay_apply(replay, &event);
	found = jp_replay_find(replay, 1, 0x1000);
	check(found->build_id_size == 20 && !memcmp(found->build_id, id, 20) && found->since == 1,
	      "one of 20 is told, and the mapping is known since the first record");
	jp_replay_apply(replay, &event);
	event.map.build_id = NULL;
	jp_replay_apply(replay, &event);
	check(jp_replay_find(replay, 1, 0x1000)->build_id_size == 20 && count(1) == 1,
	      "it stays, whoever tells of the mapping again");
}

int main(void)
{
	static void (*const tests[])(void) = {
		test_bounds,     test_sizes,         test_cut,
		test_unmap,      test_fork,          test_synthesized_fork,
		test_exec,       test_duplicates,    test_protection,
		test_backing,    test_against_pages, test_forks_against_pages,
		test_descending, test_shared_space,  test_generations,
		test_protect,    test_remap,         test_build_ids};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		anew();
		tests[i]();
	}
	jp_replay_free(replay);
	return check_done();
}
