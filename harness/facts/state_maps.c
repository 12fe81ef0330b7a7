// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/state_maps.h"

#include <stdio.h>
#include <unistd.h>

#include "harness/facts/test_region.h"

enum { REGION_PAGES = 4096 };

/* Stores in *@page the distance of @addr from the middle of the test region in pages. Returns false
 * if @addr is outside the region. */
static bool find_page(uint64_t addr, int *page)
{
	int64_t first_page = (int64_t)(addr - (uint64_t)(uintptr_t)jp_test_region_at(0));

	first_page /= (int64_t)jp_test_region_page();
	*page = (int)first_page;
	return first_page >= -REGION_PAGES && first_page < REGION_PAGES;
}

static const char *format_prot(const struct jp_event *event, char text[4])
{
	text[0] = event->map.prot & PROT_READ ? 'r' : '-';
	text[1] = event->map.prot & PROT_WRITE ? 'w' : '-';
	text[2] = event->map.prot & PROT_EXEC ? 'x' : '-';
	text[3] = '\0';
	return text;
}

static void answer_map(struct jp_answer *answer, const struct jp_event *event, int page,
		       enum jp_map_fields fields)
{
	uint64_t pages = event->map.len / jp_test_region_page();
	char prot[4], text[JP_ANSWER_TEXT], pgoff[32];
	int length, first_page;

	length = snprintf(text, sizeof(text), "%d+%llu", page, (unsigned long long)pages);
	if (fields >= JP_FIELDS_PROT)
		length += snprintf(text + length, sizeof(text) - (size_t)length, " %s",
				   format_prot(event, prot));
	if (fields >= JP_FIELDS_NAME)
		length += snprintf(text + length, sizeof(text) - (size_t)length, " %.*s",
				   JP_MAP_NAME_BYTES, event->map.name);
	if (fields >= JP_FIELDS_PLACE) {
		/* The offset of an anonymous mapping may be an address in the test region: state
		 * its page. */
		if (find_page(event->map.pgoff, &first_page))
			snprintf(pgoff, sizeof(pgoff), "page %d", first_page);
		else
			snprintf(pgoff, sizeof(pgoff), "%llu",
				 (unsigned long long)(event->map.pgoff / jp_test_region_page()));
		length += snprintf(text + length, sizeof(text) - (size_t)length, " pgoff=%s ino=%s",
				   pgoff, event->map.ino ? "yes" : "no");
	}
	if (fields >= JP_FIELDS_ALL)
		snprintf(text + length, sizeof(text) - (size_t)length, " flags=%#x",
			 event->map.flags);
	jp_answer_text(answer, "%s", text);
}

void jp_answer_maps(struct jp_answer *answer, struct jp_watch *watch, enum jp_map_fields fields)
{
	struct jp_event event;
	int page;

	jp_answer_list(answer);
	while (jp_watch_next(watch, &event))
		if (event.type == JP_EVENT_MAP && find_page(event.map.addr, &page))
			answer_map(answer, &event, page, fields);
}

void jp_answer_names(struct jp_answer *answer, struct jp_watch *watch)
{
	struct jp_event event;
	char prot[4];

	jp_answer_list(answer);
	while (jp_watch_next(watch, &event))
		if (event.type == JP_EVENT_MAP)
			jp_answer_text(answer, "%s %.*s", format_prot(&event, prot),
				       JP_MAP_NAME_BYTES, event.map.name);
}

/* Pids and tids by the order in which they appear; the first is called A, the next B. */
struct pid_labels {
	uint32_t ids[16];
	unsigned int count;
};

static char get_label(struct pid_labels *labels, uint32_t id)
{
	for (unsigned int i = 0; i < labels->count; i++)
		if (labels->ids[i] == id)
			return (char)('A' + i);
	if (labels->count == sizeof(labels->ids) / sizeof(labels->ids[0]))
		return '?';
	labels->ids[labels->count] = id;
	return (char)('A' + labels->count++);
}

/* Stores in @text the letter of the process, "A"; for a thread other than the first of its process
 * "A/B". */
static void format_task(struct pid_labels *labels, uint32_t pid, uint32_t tid, char *text)
{
	text[0] = get_label(labels, pid);
	text[1] = '\0';
	if (pid != tid) {
		text[1] = '/';
		text[2] = get_label(labels, tid);
		text[3] = '\0';
	}
}

static void answer_record(struct jp_answer *answer, const struct jp_event *event,
			  struct pid_labels *labels)
{
	char first[4], second[4];
	int page;

	switch (event->type) {
	case JP_EVENT_FORK:
	case JP_EVENT_EXIT:
		/* Format the parent first, so that it gets the earlier letter. */
		format_task(labels, event->task.ppid, event->task.ptid, second);
		format_task(labels, event->pid, event->tid, first);
		jp_answer_text(answer, "%s %s of %s",
			       event->type == JP_EVENT_FORK ? "FORK" : "EXIT", first, second);
		break;
	case JP_EVENT_COMM:
		format_task(labels, event->pid, event->tid, first);
		jp_answer_text(answer, "COMM %s%s %.16s", first, event->comm.exec ? " exec" : "",
			       event->comm.name);
		break;
	case JP_EVENT_MAP:
		format_task(labels, event->pid, event->tid, first);
		if (find_page(event->map.addr, &page))
			jp_answer_text(answer, "MMAP2 %s page %d", first, page);
		else
			jp_answer_text(answer, "MMAP2 %s %s %.*s", first,
				       format_prot(event, second), JP_MAP_NAME_BYTES,
				       event->map.name);
		break;
	default:
		jp_answer_text(answer, "record %u misc %#x", event->record_type, event->misc);
	}
}

void jp_answer_records(struct jp_answer *answer, struct jp_watch *watch)
{
	struct pid_labels labels = {.ids = {(uint32_t)getpid()}, .count = 1};
	struct jp_event event;

	jp_answer_list(answer);
	while (jp_watch_next(watch, &event))
		answer_record(answer, &event, &labels);
}
