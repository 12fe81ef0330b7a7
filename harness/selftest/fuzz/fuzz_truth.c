// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/oracle.h"
#include "harness/selftest/fuzz/fuzz.h"
#include "harness/judge/spans.h"
#include "harness/model/oracle/executable_load.h"
#include "harness/model/oracle/tasks.h"
#include "harness/model/oracle/truth.h"

static void query_truth(const struct jp_truth *truth)
{
	struct jp_truth_stack stack = {0};

	for (size_t i = 0; i < truth->nr_activations; i += 1 + truth->nr_activations / 64) {
		const struct jp_truth_activation *activation = &truth->activations[i];
		const struct jp_truth_code *code = activation->path->functions[0];

		for (int method = 0; method < JP_METHODS; method++)
			for (uint32_t n = 0; n < code->layout->count && n < 8; n++)
				jp_truth_stack_at(truth, activation->pid, activation->tid,
						  activation->enter, 100,
						  code->addr + code->layout->insns[n].offset,
						  activation->sp - code->layout->insns[n].post,
						  method, &stack);
		jp_truth_code_at(truth, activation->pid, code->addr, activation->enter);
		jp_truth_code_at(truth, activation->pid, code->addr + code->size,
				 activation->leave);
	}
	jp_truth_stack_free(&stack);
}

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	struct jp_error err = {""};
	struct jp_truth *truth = jp_truth_load(path, &err);
	struct jp_executables executables = {0};
	struct jp_tasks tasks;
	struct jp_spans spans;

	if (!truth && !strstr(err.text, "/input: offset "))
		abort();
	if (!truth)
		return;
	query_truth(truth);
	if (!jp_spans_collect_from_truth(truth, &spans))
		jp_spans_free(&spans);
	jp_tasks_collect(truth, &tasks);
	jp_tasks_free(&tasks);
	jp_executables_load(&executables, truth, &err);
	jp_executables_free(&executables);
	jp_truth_free(truth);
}

const struct fuzz_target fuzz_target = {
	.seeds = (const char *const[]){"validators/fixtures/anon/truth",
				       "validators/fixtures/memfd/truth",
				       "harness/selftest/fuzz/corpus/native.truth", NULL},
	.rounds = 750,
	.truncations = 150,
	.mend = fuzz_seal,
};
