// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/causes/words.h"

#include <stddef.h>
#include <string.h>

/* What validators, which know the truth of each sample, call what explain finds by a capture alone.
 */
static const struct {
	const char *word, *id;
} words[] = {
	{"window", "attach-window"},
	{"snapshot", "older-code"},
	{"pathless", "older-code"},
	{"no-record", "older-code"},
	{"no-mapping", "older-code"},
	{"gate", "exec-while-disabled"},
	{"max-stack", "depth-limit"},
	{"dump-end", "dump-too-small"},
	{"dump-short", "empty-dump"},
	{"no-cfi", "no-cfi-for-jit"},
	{"no-elf", "missing-file"},
	{"bad-frame", "jit-no-frame-pointer"},
	{"complete", "jit-no-frame-pointer"},
	{"hidden", "jitdump-hidden"},
	{"not-anonymous", "map-not-read-for-memfd"},
	{"not-injected", "jitdump-not-injected"},
	{"not-published", "map-partial"},
	{"stale", "map-stale"},
	{"later", "map-stale"},
};

/* Metrics whose exceptions are samples without their whole stack or their name. */
static bool costs(const char *metric)
{
	return strncmp(metric, "broken.", 7) == 0 || strcmp(metric, "names.unnamed") == 0 ||
	       strcmp(metric, "names.wrong") == 0;
}

const struct jp_cause *jp_cause_of_word(const char *metric, const char *word, bool mapped)
{
	if (!costs(metric))
		return NULL;
	if (strcmp(word, "no-map") == 0)
		return jp_cause_find(mapped ? "map-partial" : "no-name-source");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].word, word) == 0)
			return jp_cause_find(words[i].id);
	return NULL;
}

bool jp_cause_is_judged(const struct jp_cause *cause)
{
	static const char *const others[] = {"no-name-source", "map-partial",
					     "jitdump-not-injected", "jitdump-file-gone"};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strcmp(cause->id, others[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].id, cause->id) == 0)
			return true;
	return false;
}
