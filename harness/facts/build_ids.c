// SPDX-License-Identifier: GPL-2.0-only
/* Facts about mapping records with build ids, also while another event requests none. */
#include "harness/facts/test_region.h"
#include "harness/facts/state_maps.h"
#include "harness/facts/tiny_program.h"

static void answer_build_id_bits(struct jp_answer *answer, struct jp_watch *watch)
{
	struct jp_event event;

	jp_answer_list(answer);
	while (jp_watch_next(watch, &event)) {
		if (event.type != JP_EVENT_MAP)
			continue;
		if (event.misc & JP_PERF_MISC_MMAP_BUILD_ID)
			jp_answer_text(answer, "%.*s build id", JP_MAP_NAME_BYTES, event.map.name);
		else
			jp_answer_text(answer, "%.*s inode", JP_MAP_NAME_BYTES, event.map.name);
	}
}

static void map_file_and_anonymous(struct jp_answer *answer, int program)
{
	jp_test_region_map_file(answer, 0, 1, JP_RX, MAP_PRIVATE, program, 0);
	jp_test_region_map(answer, 4, 1, JP_RX);
}

static void map_with_ids(struct jp_answer *answer, struct jp_watch *watch)
{
	int program = jp_tiny_make(answer);

	if (program < 0)
		return;
	map_file_and_anonymous(answer, program);
	answer_build_id_bits(answer, watch);
}

static void read_id_size(struct jp_answer *answer, struct jp_watch *watch)
{
	int program = jp_tiny_make(answer);
	struct jp_event event;

	if (program < 0)
		return;
	jp_test_region_map_file(answer, 0, 1, JP_RX, MAP_PRIVATE, program, 0);
	while (jp_watch_next(watch, &event)) {
		if (event.type != JP_EVENT_MAP)
			continue;
		if (event.misc & JP_PERF_MISC_MMAP_BUILD_ID)
			jp_answer_number(answer, event.map.build_id_size);
		else
			jp_answer_text(answer, "no build id");
	}
}

/* Opens an event without build ids and another with build ids, and states what the former gets.
 * @answer->parameter: the event with build ids is opened first. */
static void open_two_events(struct jp_answer *answer)
{
	struct perf_event_attr plain_attr = jp_watch_sideband(), asking = jp_watch_sideband();
	int program = jp_tiny_make(answer);
	struct jp_watch other_watch, watch;
	bool is_opened;

	jp_attr_set_bit(&asking, JP_ATTR_BUILD_ID);
	if (program < 0)
		return;
	if (answer->parameter)
		is_opened = jp_watch_open(&other_watch, &asking, 16, answer) &&
			    jp_watch_open(&watch, &plain_attr, 16, answer);
	else
		is_opened = jp_watch_open(&watch, &plain_attr, 16, answer) &&
			    jp_watch_open(&other_watch, &asking, 16, answer);
	if (!is_opened)
		return;
	map_file_and_anonymous(answer, program);
	answer_build_id_bits(answer, &watch);
}

static const struct jp_fact facts[] = {
	{"build_id.asked_for",
	 "Maps r-x an anonymous page and a memfd's program with a build id while attr.build_id "
	 "is set; whether each record holds a build id or an inode.",
	 .watched = map_with_ids, .bit = JP_ATTR_BUILD_ID},
	{"build_id.size", "Maps a program with a build id of 20 bytes; the size in its record.",
	 .watched = read_id_size, .bit = JP_ATTR_BUILD_ID},
	{"build_id.beside.opened_first",
	 "Opens an event with attr.build_id, then another without; whether the other's records "
	 "announce a build id (misc bit) or the inode, which they hold.",
	 .probe = open_two_events, .parameter = true},
	{"build_id.beside.opened_second",
	 "Opens an event without attr.build_id, then another with it; whether the first's "
	 "records announce a build id (misc bit) or the inode, which they hold.",
	 .probe = open_two_events, .parameter = false},
};
JP_REGISTER_ROWS(fact, facts);
