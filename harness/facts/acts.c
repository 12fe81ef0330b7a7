// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/acts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/facts/state_maps.h"
#include "harness/facts/test_region.h"

struct act {
	char verb[16], word[16]; /* @word: the last argument, such as "rwx" */
	int page, pages;
};

/* Returns the index of @word in the NULL-terminated @words, or the index of the NULL if @word is
 * not in it. */
static int find_word(const char *const *words, const char *word)
{
	int index = 0;

	while (words[index] && strcmp(words[index], word) != 0)
		index++;
	return index;
}

static int parse_prot(const char *word)
{
	static const char *const words[] = {"rwx", "rw", "rx", "r", "x", "none", NULL};
	static const int prots[] = {JP_RWX, JP_RW, JP_RX, PROT_READ, PROT_EXEC, PROT_NONE, -1};

	return prots[find_word(words, word)];
}

static void remap_pages(struct jp_answer *answer, const struct act *act)
{
	size_t page = jp_test_region_page(), size = (size_t)act->pages * page;
	bool grow = strcmp(act->verb, "grow") == 0;
	int number = (int)strtol(act->word, NULL, 10), flags = MREMAP_MAYMOVE | MREMAP_FIXED;

	if (strcmp(act->verb, "keep") == 0)
		flags |= MREMAP_DONTUNMAP;
	if (mremap(jp_test_region_at(act->page), size, grow ? (size_t)number * page : size,
		   grow ? 0 : flags, jp_test_region_at(number)) == MAP_FAILED)
		jp_answer_failed(answer, "mremap");
}

/* Performs an act on the test region. Returns false if there is no such act. */
static bool act_on_region(struct jp_answer *answer, const struct act *act)
{
	static const char *const verbs[] = {"map",   "locked", "grows-down", "protect",
					    "unmap", "write",  NULL};
	static const int flags[] = {0, MAP_LOCKED, MAP_GROWSDOWN};
	int verb = find_word(verbs, act->verb), prot = parse_prot(act->word);

	if (verb < 4 && prot < 0)
		return false;
	if (verb < 3)
		jp_test_region_map_file(answer, act->page, act->pages, prot,
					MAP_PRIVATE | MAP_ANONYMOUS | flags[verb], -1, 0);
	else if (verb == 3)
		jp_test_region_protect(answer, act->page, act->pages, prot);
	else if (verb == 5)
		jp_test_region_write(act->page, act->pages);
	else if (verb != 4)
		remap_pages(answer, act);
	else if (munmap(jp_test_region_at(act->page), (size_t)act->pages * jp_test_region_page()))
		jp_answer_failed(answer, "munmap");
	return true;
}

static bool act_on_records(struct jp_answer *answer, struct jp_watch *watch, const struct act *act)
{
	static const char *const parts[] = {
		[JP_FIELDS_RANGE] = "range", [JP_FIELDS_PROT] = "prot", [JP_FIELDS_NAME] = "name",
		[JP_FIELDS_PLACE] = "place", [JP_FIELDS_ALL] = "all",   NULL};
	int fields = find_word(parts, act->word);

	if (strcmp(act->verb, "forget") == 0)
		jp_watch_skip(watch);
	else if (strcmp(act->verb, "say") == 0)
		jp_answer_text(answer, "%s", act->word);
	else if (strcmp(act->verb, "report") == 0 && parts[fields])
		jp_answer_maps(answer, watch, (enum jp_map_fields)fields);
	else
		return false;
	return true;
}

void jp_acts_probe(struct jp_answer *answer, struct jp_watch *watch, const char *acts)
{
	for (const char *pos = acts; *pos; pos += strspn(pos, "; ")) {
		size_t length = strcspn(pos, ";");
		struct act act = {.verb = ""};
		char text[48];
		bool is_known;

		snprintf(text, sizeof(text), "%.*s", (int)length, pos);
		pos += length;
		if (sscanf(text, "%15s %d+%d %15s", act.verb, &act.page, &act.pages, act.word) > 1)
			is_known = act_on_region(answer, &act);
		else
			is_known = sscanf(text, "%15s %15s", act.verb, act.word) > 0 &&
				   act_on_records(answer, watch, &act);
		if (!is_known)
			jp_answer_missing(answer, "an act '%s'", text);
	}
}
