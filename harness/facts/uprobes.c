// SPDX-License-Identifier: GPL-2.0-only
/* Facts about uprobes: the callchains of their samples, and the mappings that the kernel makes for
 * them. */
#include "harness/facts/read_chain.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/facts/test_region.h"
#include "harness/facts/state_maps.h"
#include "harness/format/procmaps/procmaps.h"

/* Where a uprobe is set: a file and an offset in it. */
struct place {
	char path[4096];
	uint64_t offset;
};

/* Stores the file and the offset of the code at @addr. Returns false if no file is mapped there. */
static bool find_place(struct jp_answer *answer, const void *addr, struct place *place)
{
	uint64_t value = (uint64_t)(uintptr_t)addr;
	struct jp_procmap *maps = NULL;
	struct jp_error err = {""};
	size_t size, count = 0;
	bool has_place = false;
	jp_cleanup_free char *text = jp_file_read("/proc/self/maps", 1 << 20, &size, &err);

	if (!text || jp_procmaps_parse(text, size, &maps, &count, &err)) {
		jp_answer_missing(answer, "/proc/self/maps: %s", err.text);
		return false;
	}
	for (size_t i = 0; i < count && !has_place; i++) {
		if (value < maps[i].start || value >= maps[i].end)
			continue;
		snprintf(place->path, sizeof(place->path), "%s", maps[i].name);
		place->offset = value - maps[i].start + maps[i].offset;
		has_place = true;
	}
	free(maps);
	if (!has_place)
		jp_answer_missing(answer, "the file of the probed code");
	return has_place;
}

static long read_uprobe_type(struct jp_answer *answer)
{
	static const char path[] = "/sys/bus/event_source/devices/uprobe/type";
	char text[32];
	ssize_t size = jp_file_read_text(path, text, sizeof(text));

	if (size <= 0)
		jp_answer_missing(answer, "%s: %s", path, jp_answer_errno((int)-size));
	return size > 0 ? strtol(text, NULL, 10) : -1;
}

static bool probe_attr(struct perf_event_attr *attr, const struct place *place, bool on_return,
		       struct jp_answer *answer)
{
	long type = read_uprobe_type(answer);

	*attr = jp_watch_breakpoint(NULL);
	attr->type = (uint32_t)type;
	attr->config = on_return;
	attr->bp_type = 0;
	attr->uprobe_path = (uint64_t)(uintptr_t)place->path;
	attr->probe_offset = place->offset;
	return type >= 0;
}

static bool open_probe(struct jp_watch *watch, const struct place *place, bool on_return,
		       struct jp_answer *answer)
{
	struct perf_event_attr attr;

	return probe_attr(&attr, place, on_return, answer) &&
	       jp_watch_open(watch, &attr, 16, answer);
}

enum where { PUSH, ENDBR64, NOP5, NOP10, RETURN };

/* Returns the leaf function that begins with the instruction @where. */
static jp_code get_leaf(enum where where)
{
	const jp_code leaves[] = {jp_code_leaf, jp_code_endbr, jp_code_nop5, jp_code_nop10,
				  jp_code_leaf};

	return leaves[where];
}

/* States the callchain of a uprobe at the start of a leaf function, or of a uretprobe at its
 * return, when jp_code_middle() calls it. */
static void walk_at_probe(struct jp_answer *answer)
{
	jp_code leaf = get_leaf((enum where)answer->parameter);
	struct jp_watch watch;
	struct place place;

	if (!find_place(answer, (const void *)leaf, &place) ||
	    !open_probe(&watch, &place, answer->parameter == RETURN, answer))
		return;
	jp_code_outer(jp_code_middle, leaf);
	jp_answer_chain(answer, &watch);
}

static void walk_over_pending_return(struct jp_answer *answer)
{
	struct jp_watch pending, watch;
	struct place place;

	if (!find_place(answer, (const void *)jp_code_leaf, &place) ||
	    !open_probe(&pending, &place, true, answer) ||
	    !jp_chain_open(&watch, jp_code_leaf_body, answer))
		return;
	jp_code_outer(jp_code_middle, jp_code_leaf);
	jp_answer_chain(answer, &watch);
}

/* States the executable mappings that the kernel makes while a leaf function with a uprobe is
 * called three times. */
static void list_probe_mappings(struct jp_answer *answer)
{
	jp_code leaf = get_leaf((enum where)answer->parameter);
	struct jp_watch maps, watch;
	struct place place;

	if (!find_place(answer, (const void *)leaf, &place) || !jp_watch_code(&maps, answer) ||
	    !open_probe(&watch, &place, answer->parameter == RETURN, answer))
		return;
	for (int i = 0; i < 3; i++)
		jp_code_outer(jp_code_middle, leaf);
	jp_answer_names(answer, &maps);
}

static void open_nop10(struct jp_answer *answer)
{
	struct perf_event_attr attr;
	struct place place;
	int fd;

	if (!find_place(answer, (const void *)jp_code_nop10, &place) ||
	    !probe_attr(&attr, &place, false, answer))
		return;
	fd = jp_perf_open(&attr, 0, sched_getcpu());
	if (fd == -EACCES || fd == -EPERM)
		jp_answer_missing(answer, "perf_event_open of a uprobe: %s", jp_answer_errno(-fd));
	else
		jp_answer_text(answer, "%s", jp_answer_errno(fd < 0 ? -fd : 0));
}

static void hit_memfd_probe(struct jp_answer *answer)
{
	const char *leaf = (const char *)jp_code_leaf;
	const ssize_t size = jp_code_leaf_end - leaf;
	int fd = memfd_create("fact", MFD_CLOEXEC);
	unsigned int hits = 0;
	struct jp_event event;
	struct jp_watch watch;
	struct place place = {.offset = 0};

	if (fd < 0 || ftruncate(fd, (off_t)jp_test_region_page()) ||
	    write(fd, leaf, (size_t)size) != size) {
		jp_answer_failed(answer, "memfd_create");
		return;
	}
	snprintf(place.path, sizeof(place.path), "/proc/self/fd/%d", fd);
	jp_test_region_map_file(answer, 0, 1, JP_RX, MAP_SHARED, fd, 0);
	jp_test_region_map_file(answer, 4, 1, JP_RX, MAP_PRIVATE, fd, 0);
	if (answer->missing[0] || !open_probe(&watch, &place, false, answer))
		return;
	jp_answer_list(answer);
	for (int page = 0; page <= 4; page += 4) {
		((jp_code)(void *)jp_test_region_at(page))();
		for (hits = 0; jp_watch_next(&watch, &event);)
			hits += event.type == JP_EVENT_SAMPLE;
		jp_answer_text(answer, "%s %u", page ? "private" : "shared", hits);
	}
}

static const struct jp_fact facts[] = {
	{"uprobe.chain.push",
	 "outer calls middle, middle calls leaf; the chain of a uprobe at leaf's push %rbp.",
	 .probe = walk_at_probe, .parameter = PUSH},
	{"uprobe.chain.endbr64",
	 "outer calls middle, middle calls a leaf that begins with endbr64; the chain of a "
	 "uprobe there.",
	 .probe = walk_at_probe, .parameter = ENDBR64},
	{"uprobe.chain.nop5",
	 "outer calls middle, middle calls a leaf that begins with a nop of five bytes; the "
	 "chain of a uprobe there.",
	 .probe = walk_at_probe, .parameter = NOP5},
	{"uprobe.chain.pending_return",
	 "A uretprobe waits for leaf's return; the chain of a breakpoint in leaf's body "
	 "(\"elsewhere\": the kernel's trampoline replaces the caller).",
	 .probe = walk_over_pending_return},
	{"uprobe.chain.return", "A uretprobe of leaf is hit; its chain.", .probe = walk_at_probe,
	 .parameter = RETURN},
	{"uprobe.maps.nop5",
	 "A uprobe at a nop of five bytes is hit three times; records of the mappings that the "
	 "kernel adds.",
	 .probe = list_probe_mappings, .parameter = NOP5},
	{"uprobe.maps.nop10",
	 "A uprobe at a nop of ten bytes is hit three times; records of the mappings that the "
	 "kernel adds.",
	 .probe = list_probe_mappings, .parameter = NOP10},
	{"uprobe.open.nop10",
	 "Opens a uprobe at a nop of ten bytes with a segment prefix; ok or the error.",
	 .probe = open_nop10},
	{"uprobe.maps.push",
	 "A uprobe at push %rbp, which the kernel emulates, is hit three times; records of the "
	 "mappings that the kernel adds.",
	 .probe = list_probe_mappings, .parameter = PUSH},
	{"uprobe.maps.return",
	 "A uretprobe is hit three times; records of the mappings that the kernel adds.",
	 .probe = list_probe_mappings, .parameter = RETURN},
	{"uprobe.memfd",
	 "Code in a memfd is mapped shared and private, and called once each way; hits of a uprobe "
	 "in the memfd.",
	 .probe = hit_memfd_probe},
};
JP_REGISTER_ROWS(fact, facts);
