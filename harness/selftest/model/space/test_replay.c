// SPDX-License-Identifier: GPL-2.0-only
/* Tests the rules by which events change address spaces. */
#include "harness/model/space/mapping_name.h"
#include "harness/model/space/replay.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"

enum { PAGE = 0x1000, RX = JP_PROT_READ | JP_PROT_EXEC };

static struct jp_replay *replay;
static bool there; /* whether add_fork() makes tasks that existed before */

static int add_map(uint32_t pid, uint64_t addr, uint64_t len, uint64_t pgoff, const char *name,
		   uint64_t time)
{
	const struct jp_event event = MADE_EVENT(
		MAP, pid, time,
		.map = {.addr = addr, .len = len, .pgoff = pgoff, .prot = RX, .name = name});

	return jp_replay_apply(replay, &event);
}

static int add_fork(uint32_t pid, uint32_t tid, uint32_t ppid, uint64_t time)
{
	struct jp_event event = MADE_EVENT(
		FORK, pid, time, .task = {.ppid = ppid, .ptid = ppid, .was_running = there});

	event.tid = tid;
	return jp_replay_apply(replay, &event);
}

static int add_comm(uint32_t pid, uint32_t tid, const char *name, bool is_exec)
{
	struct jp_event event = MADE_EVENT(COMM, pid, 1, .comm = {.name = name, .exec = is_exec});

	event.tid = tid;
	return jp_replay_apply(replay, &event);
}

/* Adds an act of a truth: perf.data has neither shared spaces nor ends of processes. */
static int add_task(enum jp_event_type type, uint32_t pid, uint32_t ppid)
{
	struct jp_event event =
		MADE_EVENT(FORK, pid, 1, .task = {.ppid = ppid, .start_kind = JP_START_SHARE});

	event.type = type;
	return jp_replay_apply(replay, &event);
}

/* Returns whether the mapping at @addr is [@start, @end) of file @name at offset @pgoff. */
static bool is_mapped(uint32_t pid, uint64_t addr, uint64_t start, uint64_t end, uint64_t pgoff,
		      const char *name)
{
	const struct jp_mapping *mapping = jp_replay_find(replay, pid, addr);

	return mapping && mapping->start == start && mapping->end == end &&
	       mapping->pgoff == pgoff && strcmp(mapping->name, name) == 0;
}

static uint32_t find_prot(uint64_t addr)
{
	return jp_replay_find(replay, 1, addr)->prot;
}

static bool is_unmapped(uint32_t pid, uint64_t addr)
{
	return !jp_replay_find(replay, pid, addr);
}

/* Checks all mappings of @pid, as START-END+OFFSETNAME. */
static void check_mappings(uint32_t pid, const char *expected, const char *label)
{
	char text[256] = "";
	size_t length = 0;

	for (const struct jp_mapping *add_map = jp_replay_find_at_or_above(replay, pid, 0);
	     add_map && length < sizeof(text);
	     add_map = jp_replay_find_at_or_above(replay, pid, add_map->end))
		length += snprintf(text + length, sizeof(text) - length, "%s%lx-%lx+%lx%s",
				   length ? " " : "", (long)add_map->start, (long)add_map->end,
				   (long)add_map->pgoff, add_map->name);
	check(!strcmp(text, expected), "%s: %s", label, text);
}

static size_t count_mappings(uint32_t pid)
{
	size_t nr = 0;

	for (const struct jp_mapping *add_map = jp_replay_find_at_or_above(replay, pid, 0); add_map;
	     add_map = jp_replay_find_at_or_above(replay, pid, add_map->end))
		nr++;
	return nr;
}

static void test_sizes(void)
{
	add_map(1, 0x1000, 0, 0, "/empty", 1);
	check_mappings(1, "", "an empty mapping is ignored");
	add_map(1, UINT64_MAX - PAGE, 2 * PAGE, 0, "/around", 1);
	check(is_unmapped(1, UINT64_MAX - 1) && is_unmapped(1, 0), "a wrapping mapping is ignored");
}

static void test_fork(void)
{
	add_map(1, 0x1000, PAGE, 0, "/shared", 1);
	add_comm(1, 1, "parent", false);
	add_fork(2, 2, 1, 5);
	check_mappings(2, "1000-2000+0/shared", "a child inherits its parent's mappings");
	check(strcmp(jp_replay_comm(replay, 2), "parent") == 0, "a child has its parent's name");
	add_map(2, 0x1000, PAGE, 0, "/child's", 6);
	add_map(1, 0x3000, PAGE, 0, "/parent's", 7);
	check_mappings(1, "1000-2000+0/shared 3000-4000+0/parent's",
		       "a mapping of the child is not in the parent");
	check_mappings(2, "1000-2000+0/child's", "a later mapping of the parent is its own");
	add_fork(1, 9, 1, 8);
	check_mappings(1, "1000-2000+0/shared 3000-4000+0/parent's", "a thread changes nothing");
	add_fork(2, 2, 1, 9);
	check_mappings(2, "1000-2000+0/shared 3000-4000+0/parent's",
		       "a reused pid starts with its new parent's mappings");
	add_fork(3, 3, 77, 10);
	check_mappings(3, "", "a child of an unknown parent has no mappings");
}

static void test_synthesized_fork(void)
{
	add_comm(1, 1, "parent", false);
	add_map(1, 0x1000, PAGE, 0, "/parent's", 0);
	add_map(2, 0x5000, PAGE, 0, "/own", 0);
	add_fork(2, 2, 1, 0);
	check_mappings(2, "5000-6000+0/own", "a FORK synthesized at 0 keeps known mappings");
	add_fork(3, 3, 1, 0);
	check_mappings(3, "1000-2000+0/parent's", "a FORK at 0 inherits if nothing is known");
	there = true;
	add_fork(4, 4, 1, 0);
	there = false;
	check(is_unmapped(4, 0x1000) && strcmp(jp_replay_comm(replay, 4), "parent") == 0,
	      "a task that existed before inherits the name alone");
	add_fork(2, 2, 1, 1);
	check_mappings(2, "1000-2000+0/parent's", "a live FORK replaces known mappings");
}

static void test_exec(void)
{
	add_map(1, 0x1000, PAGE, 0, "/a", 1);
	add_comm(1, 4, "thread", false);
	check(strcmp(jp_replay_comm(replay, 1), "") == 0, "a thread's name is its own alone");
	/* /proc/PID/comm of a kworker also contains its work, and is longer than recorded names. */
	add_comm(1, 1, "kworker/u8:0-ext4-rsv-conversion", false);
	check(strcmp(jp_replay_comm(replay, 1), "kworker/u8:0-ext4-rsv-conversion") == 0,
	      "a kworker's name is kept whole");
	add_comm(1, 1, "renamed", false);
	check_mappings(1, "1000-2000+0/a", "a new name changes no mapping");
	add_fork(2, 2, 1, 2);
	add_comm(1, 1, "other", true);
	check_mappings(1, "", "an exec removes all mappings");
	check(strcmp(jp_replay_comm(replay, 1), "other") == 0, "an exec sets the name");
	check_mappings(2, "1000-2000+0/a", "an exec leaves the child's mappings alone");
}

static void test_duplicates(void)
{
	uint64_t generation;

	add_map(1, 0x1000, PAGE, 0, "/a", 10);
	generation = jp_replay_generation(replay, 1);
	add_map(1, 0x1000, PAGE, 0, "/a", 50);
	check(jp_replay_find(replay, 1, 0x1000)->since == 10 && count_mappings(1) == 1,
	      "a repeated record is no new mapping");
	check(jp_replay_generation(replay, 1) == generation, "a repeated record changes nothing");
	add_map(1, 0x1000, PAGE, PAGE, "/a", 60);
	check(jp_replay_find(replay, 1, 0x1000)->since == 60 &&
		      jp_replay_find(replay, 1, 0x1000)->pgoff == PAGE,
	      "a record with another offset is a new mapping");
	check(jp_replay_generation(replay, 1) != generation, "a new mapping counts as a change");
	add_map(1, 0x1000, PAGE, PAGE, "/b", 70);
	check(is_mapped(1, 0x1000, 0x1000, 0x2000, PAGE, "/b"), "another name is a new mapping");
}

static void test_protection(void)
{
	struct jp_event event =
		MADE_EVENT(MAP, 1, 2, MADE_MAP(0x1000, PAGE, JP_PROT_READ, "/data"));

	add_map(1, 0x1000, 2 * PAGE, 0, "/code", 1);
	jp_replay_apply(replay, &event);
	check_mappings(1, "1000-2000+0/data 2000-3000+1000/code", "data cuts a mapping too");
	check(find_prot(0x1000) == JP_PROT_READ, "a mapping has its protection");
	event.kernel_map = true;
	event.map.addr = 0x2000;
	jp_replay_apply(replay, &event);
	check_mappings(1, "1000-2000+0/data 2000-3000+1000/code", "a kernel mapping does not cut");
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
		{"/tmp/perf-77.map", JP_BACKING_ANON},
		{"/tmp/perf-a.map", JP_BACKING_FILE},
		{"/tmp/perf-77.map.old", JP_BACKING_FILE},
		{"[vdso]", JP_BACKING_FILE},
		{"/memfd", JP_BACKING_FILE},
		{"/usr/lib/libc.so.6", JP_BACKING_FILE},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check(jp_mapping_backing(names[i].name) == names[i].backing,
		      "the backing of '%s' is recognized", names[i].name);
	check(jp_mapping_same_name("/a", "/a") && jp_mapping_same_name("/a", "/a (deleted)") &&
		      jp_mapping_same_name("/a (deleted)", "/a") &&
		      jp_mapping_same_name("/a (deleted)", "/a (deleted) (deleted)") &&
		      !jp_mapping_same_name("/a", "/b") && !jp_mapping_same_name("/a", "/ab") &&
		      !jp_mapping_same_name("/a", "/b (deleted)") &&
		      !jp_mapping_same_name("/a", "/a (deletee)"),
	      "a deleted file has the same name");
	check(jp_mapping_name_length("/a (deleted)") == 2 && jp_mapping_name_length("/a") == 2 &&
		      jp_mapping_name_length(" (deleted)") == 10,
	      "' (deleted)' alone is a whole name");
}

static void test_against_pages(void)
{
	enum { PAGES = 64, ROUNDS = 3000, FREE = 0xff };
	static unsigned char name_of[PAGES];
	static uint64_t pgoff_of[PAGES];
	uint64_t state = 88172645463325252u;
	unsigned int nr_wrong = 0;

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
			jp_replay_unmap(replay, 1, start * PAGE, (uint64_t)size * PAGE);
			memset(name_of + start, FREE, size);
		} else {
			add_map(1, start * PAGE, (uint64_t)size * PAGE, pgoff, name, round);
			memset(name_of + start, round % 100, size);
			for (unsigned int page = start; page < start + size; page++)
				pgoff_of[page] = pgoff + (page - start) * PAGE;
		}
		for (unsigned int page = 0; page < PAGES; page++) {
			const struct jp_mapping *mapping = jp_replay_find(replay, 1, page * PAGE);

			nr_wrong += mapping != jp_replay_find(replay, 1, page * PAGE + PAGE - 1);
			snprintf(name, sizeof(name), "/%u", name_of[page]);
			if (name_of[page] == FREE || !mapping)
				nr_wrong += name_of[page] != FREE || mapping;
			else
				nr_wrong += strcmp(mapping->name, name) ||
					    page * PAGE - mapping->start + mapping->pgoff !=
						    pgoff_of[page];
		}
	}
	check(!nr_wrong, "%d random records agree with an array of pages: %u differ", ROUNDS,
	      nr_wrong);
}

/* Repeats the test with processes that fork from each other, and share blocks of mappings until one
 * of them changes a block. */
static void test_forks_against_pages(void)
{
	enum { PAGES = 2048, PIDS = 4, ROUNDS = 40000 };
	static uint64_t pgoff_of[PIDS][PAGES]; /* 0: not mapped */
	uint64_t state = 88172645463325252u;
	unsigned int nr_wrong = 0;

	for (unsigned int round = 1; round < ROUNDS; round++) {
		unsigned int pid, start, size, parent;

		check_random(&state);
		pid = state % PIDS;
		start = (state >> 8) % PAGES;
		size = (state >> 24) % 64 ? 1 : (state >> 32) % (PAGES - start);
		parent = (state >> 48) % PIDS;
		if ((state >> 52) % 64 == 0 && parent != pid) {
			add_fork(1 + pid, 1 + pid, 1 + parent, round);
			memcpy(pgoff_of[pid], pgoff_of[parent], sizeof(pgoff_of[pid]));
		} else if (state >> 60 < 3) {
			jp_replay_unmap(replay, 1 + pid, start * PAGE, (uint64_t)size * PAGE);
			memset(pgoff_of[pid] + start, 0, size * sizeof(**pgoff_of));
		} else {
			uint64_t pgoff = (uint64_t)round << 32;

			add_map(1 + pid, start * PAGE, (uint64_t)size * PAGE, pgoff, "/x", round);
			for (unsigned int page = start; page < start + size; page++)
				pgoff_of[pid][page] = pgoff + (page - start) * PAGE;
		}
		for (pid = 0; round % 1000 == 0 && pid < PIDS; pid++)
			for (unsigned int page = 0; page < PAGES; page++) {
				const struct jp_mapping *mapping =
					jp_replay_find(replay, 1 + pid, page * PAGE);

				nr_wrong += (mapping ? page * PAGE - mapping->start + mapping->pgoff
						     : 0) != pgoff_of[pid][page];
			}
	}
	check(!nr_wrong, "%d random records of processes that fork agree: %u differ", ROUNDS,
	      nr_wrong);
}

/* n log n, whatever the order: a flat array would move 10^10 mappings here. */
static void test_many_descending_mappings(void)
{
	enum { MAPPINGS = 200000 };
	for (uint64_t i = MAPPINGS; i > 0; i--)
		add_map(1, i * 2 * PAGE, PAGE, 0, "/x", i);
	check(count_mappings(1) == MAPPINGS, "%d mappings in descending order", MAPPINGS);
	for (unsigned int pid = 2; pid < 20000; pid++)
		add_fork(pid, pid, pid - 1, pid);
	check(count_mappings(19999) == MAPPINGS, "20000 forks inherit them all");
}

/* clone(CLONE_VM): two pids, one space. */
static void test_shared_space(void)
{
	add_map(1, 0x1000, PAGE, 0, "/parent's", 1);
	check(jp_replay_sharing(replay, 1) == 1, "a process shares with nobody at first");
	add_task(JP_EVENT_FORK, 2, 1);
	check_mappings(2, "1000-2000+0/parent's", "a sharing process has the existing mappings");
	check(jp_replay_sharing(replay, 1) == 2 && jp_replay_sharing(replay, 2) == 1,
	      "both processes are known to share");
	add_map(2, 0x3000, PAGE, 0, "/child's", 2);
	check(is_mapped(1, 0x3000, 0x3000, 0x4000, 0, "/child's"), "the first shares it");
	add_map(1, 0x5000, PAGE, 0, "/later", 3);
	check(is_mapped(2, 0x5000, 0x5000, 0x6000, 0, "/later"), "the second shares it");
	jp_replay_unmap(replay, 1, 0x1000, PAGE);
	check(is_unmapped(2, 0x1000), "a mapping that one unmaps is gone from both");
	add_task(JP_EVENT_FORK, 3, 2);
	add_map(3, 0x7000, PAGE, 0, "/third", 4);
	check(!is_unmapped(1, 0x7000) && !is_unmapped(2, 0x7000), "three processes can share");
	add_comm(2, 2, "new image", true);
	check(is_unmapped(2, 0x3000) && !is_unmapped(1, 0x3000) && !is_unmapped(3, 0x3000),
	      "an exec leaves the others' mappings alone");
	add_map(2, 0x9000, PAGE, 0, "/own", 5);
	check(is_unmapped(1, 0x9000) && is_unmapped(3, 0x9000), "an exec ends sharing");
	add_map(1, 0xb000, PAGE, 0, "/still", 6);
	check(!is_unmapped(3, 0xb000), "the others continue to share");
	add_fork(4, 4, 1, 7);
	add_map(4, 0xd000, PAGE, 0, "/forked", 8);
	check(!is_unmapped(4, 0xb000) && is_unmapped(1, 0xd000), "a forked child does not share");
	add_task(JP_EVENT_END, 3, 0);
	check(is_unmapped(3, 0xb000) && !is_unmapped(1, 0xb000), "an exit leaves the others alone");
	add_map(1, 0xf000, PAGE, 0, "/alone", 9);
	check(is_unmapped(3, 0xf000) && jp_replay_sharing(replay, 1) == 1, "an exit ends sharing");
	add_fork(1, 1, 4, 10);
	check(!is_unmapped(1, 0xd000), "a reused pid starts with its new parent's mappings");
}

/* Two files that had the same inode number one after the other. */
static void test_inode_generations(void)
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
	      "a live record adds the inode generation to a synthesized one");
	event.time = 3;
	event.map.gen = 101;
	jp_replay_apply(replay, &event);
	check(jp_replay_find(replay, 1, 0x1000)->since == 3 &&
		      jp_replay_find(replay, 1, 0x1000)->gen == 101,
	      "another inode generation is another file");
}

static void add_act(enum jp_event_type type, uint64_t addr, uint64_t len, uint64_t to,
		    uint64_t to_len, uint32_t find_prot)
{
	struct jp_event event =
		MADE_EVENT(MAP, 1, 5, .map = {.addr = addr, .len = len, .prot = find_prot});

	event.type = type;
	event.map.new_addr = to;
	event.map.new_len = to_len;
	check(!jp_replay_apply(replay, &event), "the act is applied");
}

static void test_protect(void)
{
	add_map(1, 0x1000, 4 * PAGE, 0x7000, "/a", 1);
	add_map(1, 0x8000, PAGE, 0, "/b", 1);
	add_act(JP_EVENT_PROTECT, 0x3000, 5 * PAGE, 0, 0, JP_PROT_READ);
	check_mappings(1, "1000-3000+7000/a 3000-5000+9000/a 8000-9000+0/b", "a mapping is split");
	check(find_prot(0x3000) == JP_PROT_READ && find_prot(0x1000) == RX &&
		      find_prot(0x8000) == RX,
	      "other mappings keep their protection");
	add_act(JP_EVENT_PROTECT, 0, 10 * PAGE, 0, 0, JP_PROT_EXEC);
	check(find_prot(0x4000) == JP_PROT_EXEC && find_prot(0x8000) == JP_PROT_EXEC &&
		      is_unmapped(1, 0x5000) && is_unmapped(1, 0),
	      "protecting a hole makes no mapping");
	add_act(JP_EVENT_PROTECT, 0x6000, PAGE, 0, 0, JP_PROT_READ);
	check(is_unmapped(1, 0x6000), "protecting memory far from mappings makes none");
}

static void test_remap(void)
{
	add_map(1, 0x1000, 4 * PAGE, 0x7000, "/a", 1);
	add_act(JP_EVENT_REMAP, 0x2000, PAGE, 0x20000, 2 * PAGE, 0);
	check_mappings(1, "1000-2000+7000/a 3000-5000+9000/a 20000-22000+8000/a",
		       "a page is moved and grows");
	check(find_prot(0x20000) == RX, "a moved mapping keeps its protection");
	add_act(JP_EVENT_REMAP, 0x6000, PAGE, 0x30000, PAGE, 0);
	check(is_unmapped(1, 0x30000) && count_mappings(1) == 3, "unknown memory moves nowhere");
	add_act(JP_EVENT_UNMAP, 0x20000, 0, 0, 0, 0);
	add_act(JP_EVENT_UNMAP, UINT64_MAX - 10, 20, 0, 0, 0);
	check(count_mappings(1) == 3, "unmapping 0 bytes, or a range that wraps, is ignored");
	add_act(JP_EVENT_UNMAP, 0x21000, PAGE, 0, 0, 0);
	check_mappings(1, "1000-2000+7000/a 3000-5000+9000/a 20000-21000+8000/a",
		       "unmapping a part leaves the rest");
}

static void test_build_ids(void)
{
	static const unsigned char id[21] = {1, 2, 3}, other_id[20] = {4};
	struct jp_event event = MADE_EVENT(MAP, 1, 1, MADE_MAP(0x1000, PAGE, JP_PROT_EXEC, "/a"));
	const struct jp_mapping *mapping;

	jp_replay_apply(replay, &event);
	event.map.build_id = id;
	event.map.build_id_size = 21;
	jp_replay_apply(replay, &event);
	check(!jp_replay_find(replay, 1, 0x1000)->build_id, "a build id of 21 bytes is ignored");
	event.map.build_id_size = 20;
	event.time = 2;
	jp_replay_apply(replay, &event);
	mapping = jp_replay_find(replay, 1, 0x1000);
	check(mapping->build_id_size == 20 && !memcmp(mapping->build_id, id, 20) &&
		      mapping->since == 1,
	      "a build id of 20 bytes is added to the known mapping");
	jp_replay_apply(replay, &event);
	event.map.build_id = NULL;
	jp_replay_apply(replay, &event);
	check(jp_replay_find(replay, 1, 0x1000)->build_id_size == 20 && count_mappings(1) == 1,
	      "a repeated record without a build id keeps it");
	event.map.build_id = other_id;
	event.time = 3;
	jp_replay_apply(replay, &event);
	mapping = jp_replay_find(replay, 1, 0x1000);
	check(mapping->since == 3 && !memcmp(mapping->build_id, other_id, 20) &&
		      count_mappings(1) == 1,
	      "another build id is another file");
}

TEST(replay)
{
	static void (*const tests[])(void) = {test_sizes,
					      test_fork,
					      test_synthesized_fork,
					      test_exec,
					      test_duplicates,
					      test_protection,
					      test_backing,
					      test_against_pages,
					      test_forks_against_pages,
					      test_many_descending_mappings,
					      test_shared_space,
					      test_inode_generations,
					      test_protect,
					      test_remap,
					      test_build_ids};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		jp_replay_free(replay);
		replay = jp_replay_new();
		tests[i]();
	}
	jp_replay_free(replay);
}
