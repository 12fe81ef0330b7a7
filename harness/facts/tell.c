// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/tell.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/facts/test_region.h"

enum { PLOT_PAGES = 4096 };

bool jp_seen_mmap(const struct jp_seen *seen, struct jp_seen_mmap *map)
{
	enum { NAME = 64 };

	if (seen->header.type != PERF_RECORD_MMAP2 || seen->header.size < NAME + 8)
		return false;
	*map = (struct jp_seen_mmap){
		.pid = seen->halves[0],
		.tid = seen->halves[1],
		.addr = seen->words[1],
		.len = seen->words[2],
		.pgoff = seen->words[3],
		.maj = seen->halves[8],
		.min = seen->halves[9],
		.ino = seen->words[5],
		.gen = seen->words[6],
		.prot = seen->halves[14],
		.flags = seen->halves[15],
	};
	snprintf(map->name, sizeof(map->name), "%s", (const char *)seen->body + NAME);
	return true;
}

/* In pages from the plot's middle; false: it is elsewhere. */
static bool in_plot(uint64_t addr, int *page)
{
	int64_t from = (int64_t)(addr - (uint64_t)(uintptr_t)jp_test_region_at(0));

	from /= (int64_t)jp_test_region_page();
	*page = (int)from;
	return from >= -PLOT_PAGES && from < PLOT_PAGES;
}

static const char *prot_of(const struct jp_seen_mmap *map, char text[4])
{
	text[0] = map->prot & PROT_READ ? 'r' : '-';
	text[1] = map->prot & PROT_WRITE ? 'w' : '-';
	text[2] = map->prot & PROT_EXEC ? 'x' : '-';
	text[3] = '\0';
	return text;
}

static void tell_map(struct jp_answer *answer, const struct jp_seen_mmap *map, int page,
		     enum jp_tell how)
{
	uint64_t pages = map->len / jp_test_region_page();
	char prot[4], text[JP_ANSWER_TEXT], pgoff[32];
	int used, from;

	used = snprintf(text, sizeof(text), "%d+%llu", page, (unsigned long long)pages);
	if (how >= JP_TELL_PROT)
		used += snprintf(text + used, sizeof(text) - (size_t)used, " %s",
				 prot_of(map, prot));
	if (how >= JP_TELL_NAME)
		used += snprintf(text + used, sizeof(text) - (size_t)used, " %s", map->name);
	if (how >= JP_TELL_PLACE) {
		/* Where it is an address it is told as one. */
		if (in_plot(map->pgoff, &from))
			snprintf(pgoff, sizeof(pgoff), "page %d", from);
		else
			snprintf(pgoff, sizeof(pgoff), "%llu",
				 (unsigned long long)(map->pgoff / jp_test_region_page()));
		used += snprintf(text + used, sizeof(text) - (size_t)used, " pgoff=%s ino=%s",
				 pgoff, map->ino ? "yes" : "no");
	}
	if (how >= JP_TELL_ALL)
		snprintf(text + used, sizeof(text) - (size_t)used, " flags=%#x", map->flags);
	jp_answer_text(answer, "%s", text);
}

void jp_tell_maps(struct jp_answer *answer, struct jp_watch *watch, enum jp_tell how)
{
	static struct jp_seen seen;
	struct jp_seen_mmap map;
	int page;

	jp_answer_list(answer);
	while (jp_watch_next(watch, &seen))
		if (jp_seen_mmap(&seen, &map) && in_plot(map.addr, &page))
			tell_map(answer, &map, page, how);
}

void jp_tell_names(struct jp_answer *answer, struct jp_watch *watch)
{
	static struct jp_seen seen;
	struct jp_seen_mmap map;
	char prot[4];

	jp_answer_list(answer);
	while (jp_watch_next(watch, &seen))
		if (jp_seen_mmap(&seen, &map))
			jp_answer_text(answer, "%s %s", prot_of(&map, prot), map.name);
}

struct jp_pid_labels jp_pid_labels_self(void)
{
	return (struct jp_pid_labels){.ids = {(uint32_t)getpid()}, .count = 1};
}

char jp_pid_label(struct jp_pid_labels *labels, uint32_t id)
{
	for (unsigned int i = 0; i < labels->count; i++)
		if (labels->ids[i] == id)
			return (char)('A' + i);
	if (labels->count == sizeof(labels->ids) / sizeof(labels->ids[0]))
		return '?';
	labels->ids[labels->count] = id;
	return (char)('A' + labels->count++);
}

/* "A", or "A/B" for a thread that is not its process's first. */
static void who(struct jp_pid_labels *labels, uint32_t pid, uint32_t tid, char *text)
{
	text[0] = jp_pid_label(labels, pid);
	text[1] = '\0';
	if (pid != tid) {
		text[1] = '/';
		text[2] = jp_pid_label(labels, tid);
		text[3] = '\0';
	}
}

static void tell_record(struct jp_answer *answer, const struct jp_seen *seen,
			struct jp_pid_labels *labels)
{
	const uint32_t *half = seen->halves;
	struct jp_seen_mmap map;
	char first[4], second[4];
	int page;

	switch (seen->header.type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		/* pid, ppid, tid, ptid: whoever was there first is called first. */
		who(labels, half[1], half[3], second);
		who(labels, half[0], half[2], first);
		jp_answer_text(answer, "%s %s of %s",
			       seen->header.type == PERF_RECORD_FORK ? "FORK" : "EXIT", first,
			       second);
		break;
	case PERF_RECORD_COMM:
		who(labels, half[0], half[1], first);
		jp_answer_text(answer, "COMM %s%s %.16s", first,
			       seen->header.misc & PERF_RECORD_MISC_COMM_EXEC ? " exec" : "",
			       (const char *)seen->body + 8);
		break;
	case PERF_RECORD_MMAP2:
		if (!jp_seen_mmap(seen, &map))
			break;
		who(labels, map.pid, map.tid, first);
		if (in_plot(map.addr, &page))
			jp_answer_text(answer, "MMAP2 %s page %d", first, page);
		else
			jp_answer_text(answer, "MMAP2 %s %s %s", first, prot_of(&map, second),
				       map.name);
		break;
	default:
		jp_answer_text(answer, "record %u misc %#x", seen->header.type, seen->header.misc);
	}
}

void jp_tell_records(struct jp_answer *answer, struct jp_watch *watch, struct jp_pid_labels *labels)
{
	static struct jp_seen seen;

	jp_answer_list(answer);
	while (jp_watch_next(watch, &seen))
		tell_record(answer, &seen, labels);
}
