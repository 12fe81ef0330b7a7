// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/explain_causes.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/model/causes/causes.h"

static bool same(const char *left, const char *right)
{
	return left && right ? strcmp(left, right) == 0 : left == right;
}

static void print_words(const char *id)
{
	const struct jp_cause_word *word;

	for (size_t i = 0; (word = jp_cause_word_at(i)); i++)
		if (same(word->id, id))
			printf("    %-16s %s%s%s%s\n", word->word, word->text,
			       word->metric ? " (of " : "", word->metric ?: "",
			       word->metric ? ")" : "");
}

static void print_text(void)
{
	const struct jp_cause *cause;

	printf("causes, and below each what validators, who know the truth, call it:\n");
	for (size_t i = 0; (cause = jp_cause_at(i)); i++) {
		printf("  %s: %s\n", cause->id, cause->text);
		print_words(cause->id);
	}
	printf("what validators find, and no capture alone tells:\n");
	print_words(NULL);
}

static void write_words(struct jp_json *json, const char *id)
{
	const struct jp_cause_word *word;

	jp_json_array(json, "words");
	for (size_t i = 0; (word = jp_cause_word_at(i)); i++) {
		if (!same(word->id, id))
			continue;
		jp_json_object(json, NULL);
		jp_json_string(json, "word", word->word);
		jp_json_string(json, "text", word->text);
		jp_json_string(json, "metric", word->metric);
		jp_json_end(json);
	}
	jp_json_end(json);
}

static void write_json(void)
{
	const struct jp_cause *cause;
	struct jp_json json;

	jp_json_begin(&json, stdout);
	jp_json_object(&json, NULL);
	jp_json_array(&json, "causes");
	for (size_t i = 0; (cause = jp_cause_at(i)); i++) {
		jp_json_object(&json, NULL);
		jp_json_string(&json, "id", cause->id);
		jp_json_string(&json, "text", cause->text);
		jp_json_string(&json, "costs", jp_cause_costs_text[cause->costs]);
		jp_json_string(&json, "study", cause->study);
		write_words(&json, cause->id);
		jp_json_end(&json);
	}
	jp_json_end(&json);
	write_words(&json, NULL);
	jp_json_end(&json);
}

void jp_explain_causes(bool json)
{
	if (json)
		write_json();
	else
		print_text();
}
