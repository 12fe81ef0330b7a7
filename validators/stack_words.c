// SPDX-License-Identifier: GPL-2.0-only
/* Stack words: a sample in emitted code must have the true frame pointer, and the words of its dump
 * that the truth can predict must be right, whether or not a judged method reads them. */
#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/return_address.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"
#include "harness/model/unwind/stack_dump.h"

struct stack_words {
	struct jp_view *view;
	struct jp_truth_stack stack;
	uint64_t samples, fps, bad_fps, dumps, bad_dumps;
};

/* A dump, and its first wrong word. */
struct compared_dump {
	struct jp_stack_dump stack;
	uint64_t words;
	uint64_t addr, dumped_word,
		true_word; /* address in the dump, dumped word, true word; @addr 0: none */
};

static void compare_word(void *context, uint64_t addr, uint64_t value, uint64_t signature)
{
	struct compared_dump *dump = context;
	uint64_t dumped;

	if (!jp_stack_dump_load(&dump->stack, addr, &dumped))
		return;
	dump->words++;
	if (jp_return_address(dumped, signature) == value || dump->addr)
		return;
	dump->addr = addr;
	dump->dumped_word = dumped;
	dump->true_word = value;
}

/* Returns whether the callchain has at least one caller: if the frame pointer is invalid, the
 * kernel's walk ends at once. */
static bool has_caller(const struct stack_words *words, const struct jp_event *event)
{
	const uint64_t *user;

	return words->view->evidence->info.first_enabled && !event->sample.chain_deferred &&
	       jp_event_user_chain(event, &user) > 1;
}

/* Judges the sampled frame pointer @dumped. @dumped_word: its true value; NULL: unknown. */
static int judge_frame_pointer(struct stack_words *words, const struct jp_event *event,
			       uint64_t dumped, const uint64_t *dumped_word)
{
	const bool is_bad =
		dumped_word ? dumped != *dumped_word : !dumped && has_caller(words, event);

	words->fps++;
	words->bad_fps += is_bad;
	return is_bad ? jp_findings_count_failure(
				&words->view->findings, "registers.fp", "other-frame",
				"at %" PRIu64 ", %u/%u: the frame pointer is %" PRIx64 "; the "
				"truth has %" PRIx64,
				event->time, event->pid, event->tid, dumped,
				dumped_word ? *dumped_word : 0)
		      : 0;
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct stack_words *words = view->state;
	const struct jp_evidence *evidence = view->evidence;
	const unsigned number = view->machine->frames->fp;
	struct compared_dump dump = {.stack.bytes = event->sample.stack,
				     .stack.size = event->sample.stack_size,
				     .stack.narrow = view->machine->frames->narrow};
	uint64_t ip, fp;
	bool is_known;
	int failed = 0;

	if (event->type != JP_EVENT_SAMPLE ||
	    !jp_machine_user(view->machine, event, &ip, &dump.stack.sp) || !event->sample.regs ||
	    jp_truth_stack_at(evidence->truth, event->pid, event->tid, event->time,
			      evidence->info.slack, ip, dump.stack.sp, JP_DUMP,
			      &words->stack) != JP_STACK_FOUND)
		return 0;
	is_known = jp_truth_visit_stack_words(&words->stack, compare_word, &dump, &fp);
	if (event->sample.regs->mask >> number & 1)
		failed = judge_frame_pointer(words, event, event->sample.regs->r[number],
					     is_known ? &fp : NULL);
	words->dumps += dump.words != 0;
	if (!dump.addr || failed)
		return failed;
	words->bad_dumps++;
	return jp_findings_count_failure(
		&view->findings, "dump.words", "other-word",
		"at %" PRIu64 ", %u/%u: the dump has at %" PRIx64 " the word %" PRIx64 "; the "
		"truth has %" PRIx64,
		event->time, event->pid, event->tid, dump.addr, dump.dumped_word, dump.true_word);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct stack_words *words = view->state;

	jp_findings_add_rate(&view->findings, "registers.fp", words->bad_fps, words->fps);
	jp_findings_add_rate(&view->findings, "dump.words", words->bad_dumps, words->dumps);
	return 0;
}

static void free_words(void *state)
{
	struct stack_words *words = state;

	jp_truth_stack_free(&words->stack);
}

JP_DEFINE(validator, stack_words) = {
	.name = "stack_words",
	.traits = JP_LACKS_RECORDS | JP_LACKS_NAMES | JP_LACKS_MAPPINGS | JP_LACKS_TASKS,
	.state_size = sizeof(struct stack_words),
	.handle = handle_event,
	.end = end,
	.free = free_words,
};
