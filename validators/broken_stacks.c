// SPDX-License-Identifier: GPL-2.0-only
/* Broken stacks: compares the stack of every sample in emitted code, as each judged method walks
 * it, with the true stack. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/excuse.h"
#include "harness/base/order.h"
#include "harness/base/path.h"

#include "harness/format/jit/code_loads.h"
#include "harness/model/unwind/jit_cfi.h"
#include "harness/judge/validator.h"
#include "validators/sample_class.h"
#include "validators/stack_counts.h"
#include "validators/stack_fault.h"

#include "validators/stack_verdict.h"

/* Largest number of return addresses in a stack dump: its size is a u16, and each frame takes at
 * least 16 bytes. */
enum { MAX_FRAMES = 65536 / 16 };

struct stacks {
	struct jp_view *view;
	struct jp_unwinder *unwinder;
	struct jp_code_loads loads; /* loads that the jitdumps contain */
	struct jp_jit_cfi *jit;
	struct jp_truth_stack truth;
	struct jp_stack_counts counts;
	struct jp_stack_leaves leaves; /* only for a stream of observations */
};

/* The stack that one method walked from one sample, and its verdict. */
struct seen_stack {
	enum jp_method method;
	struct jp_unwound unwound;
	enum jp_verdict verdict;
	struct jp_stack_fault fault;
	enum jp_verdict second_verdict; /* second verdict of an unmapped stack; JP_UNMAPPED: none */
	struct jp_stack_fault hidden_fault;
	bool is_predicted; /* whether it is as the truth predicts for the method */
};

static void count_process(struct stacks *stacks, const struct jp_event *event,
			  const struct seen_stack *stack)
{
	const struct jp_evidence *evidence = stacks->view->evidence;
	const struct jp_interval *interval =
		jp_intervals_find(&evidence->intervals, event->time, evidence->info.slack);

	if (!interval || interval->pid != event->pid)
		return;
	stacks->counts.processes[interval->process].judged[stack->method]++;
	stacks->counts.processes[interval->process].nr_whole[stack->method] +=
		stack->verdict == JP_EXACT || stack->verdict == JP_GAP;
}

/* Returns whether the walk stopped at an address that the capture maps to a file, although mremap()
 * moved code there later: the kernel writes no record of mremap(). */
static bool stopped_at_moved_code(const struct stacks *stacks, const struct jp_event *event,
				  const struct jp_unwound *unwound)
{
	const struct jp_mapping *mapping =
		jp_replay_find(stacks->view->spaces, event->pid, unwound->stop_addr);

	return unwound->stop == JP_UNWIND_NO_CFI && mapping &&
	       mapping->backing == JP_BACKING_FILE &&
	       strcmp(jp_unmapped(stacks->view->evidence, stacks->view->recorded, event->pid,
				  unwound->stop_addr, event->time)
			      .cause,
		      "mremap") == 0;
}

/* Returns whether the walk found the right caller and refused it, because the code in the jitdump
 * has no call before it. */
static bool refused_caller(const struct stacks *stacks, const struct jp_event *event,
			   const struct jp_unwound *unwound)
{
	const struct jp_truth_stack *truth = &stacks->truth;
	const uint64_t addr = unwound->stop_addr;
	const uint32_t i = unwound->count;
	const struct jp_code_load *load;

	if (unwound->stop != JP_UNWIND_BAD_CFI ||
	    !((i < truth->nr_whole && addr == truth->frames[i]) ||
	      (i < truth->nr_seen && addr == truth->expected[i])))
		return false;
	load = jp_jit_cfi_at(stacks->jit, event->pid, addr - 1, event->time);
	return load && load->code &&
	       !truth->machine->frames->follows_call(load->code, addr - load->addr);
}

/* Returns whether all frames seen are those that the truth predicts. */
static bool begins_as_predicted(const struct jp_unwound *unwound,
				const struct jp_truth_stack *truth)
{
	return jp_stack_count_same_frames(unwound->frames, unwound->count, truth->expected,
					  truth->nr_seen) == unwound->count;
}

/* Sets the verdict of @stack->unwound, and the fault if the verdict is bad. */
static void decide_verdict(struct stacks *stacks, const struct jp_event *event,
			   struct seen_stack *stack)
{
	const struct jp_truth_stack *truth = &stacks->truth;
	const bool maps = !(stacks->view->evidence->declared.lacking & JP_LACKS_MAPPINGS);
	const struct jp_mapping *mapping =
		jp_replay_find(stacks->view->spaces, event->pid, truth->frames[0]);

	/* Judge without excuses: the verdict is bad even if code is known to stop or mislead the
	 * method. */
	stack->verdict = jp_stack_verdict(stack->unwound.frames, stack->unwound.count,
					  truth->faithful ? truth->expected : truth->frames,
					  truth->faithful ? truth->nr_seen : truth->nr_whole,
					  truth->frames, truth->nr_whole);
	/* The truth predicts these wrong frames, but not that the walk ends there. */
	if (stack->verdict == JP_WRONG && !stack->is_predicted &&
	    stack->unwound.stop == JP_UNWIND_BAD_CFI && begins_as_predicted(&stack->unwound, truth))
		stack->verdict = stack->unwound.count > 1 ? JP_SHORT : JP_SINGLE;
	if (stack->method == JP_CHAIN && event->sample.user &&
	    event->sample.ip != truth->frames[0]) {
		/* Profiles without callers use the sampled address and ignore the chain. */
		stack->verdict = JP_WRONG;
		stack->fault = (struct jp_stack_fault){JP_FAULT_SAMPLE_IP, "sample-ip", {0}};
	} else {
		jp_stack_counts_metric(stack->verdict, &stack->fault.cause);
	}
	if (maps && (!mapping || !(mapping->prot & JP_PROT_EXEC))) {
		if (stack->verdict == JP_WRONG || stack->verdict == JP_EXTRA) {
			stack->second_verdict = stack->verdict;
			stack->hidden_fault = stack->fault;
		}
		stack->fault = jp_stack_fault_get_unmapped(
			stacks->view->evidence, stacks->view->recorded, event, truth->frames[0]);
		stack->verdict = JP_UNMAPPED;
	} else if (stack->verdict == JP_SINGLE || stack->verdict == JP_SHORT) {
		stack->fault =
			jp_stack_fault_find_at_end(stacks->view->evidence, stacks->view->recorded,
						   truth, stacks->unwinder, event, &stack->unwound);
		/* Wrong tables led the walk out of a dump that contains the caller's frame. */
		if ((stack->unwound.stop == JP_UNWIND_DUMP_END ||
		     stack->unwound.stop == JP_UNWIND_DUMP_SHORT) &&
		    !stack->is_predicted && stack->method != JP_DUMP_FP)
			stack->fault.cause = jp_unwind_stop_text(JP_UNWIND_BAD_CFI);
		if (refused_caller(stacks, event, &stack->unwound))
			stack->fault = (struct jp_stack_fault){JP_FAULT_STOP, "other-code", {0}};
		if (stopped_at_moved_code(stacks, event, &stack->unwound))
			stack->fault = jp_stack_fault_get_unmapped(stacks->view->evidence,
								   stacks->view->recorded, event,
								   stack->unwound.stop_addr);
	}
}

/* Reports a verdict to the listener, if there is one. Returns 0 or -ENOMEM. */
static int report_to_listener(struct stacks *stacks, const struct jp_event *event,
			      const struct jp_decision *decision)
{
	const struct jp_view *view = stacks->view;
	const struct jp_listener *listener = view->asked->listener;

	/* If data that a control left out was added back, the stack is not the capture's own. */
	if (!listener || view->added_back)
		return 0;
	return listener->decide(listener->context, view->evidence, view->spaces, event, decision);
}

/* Returns whether the truth predicts the wrong frames of a walk that then reached memory which the
 * capture lacks. Other rules judge that lack. */
static bool is_wrong_as_predicted(const struct seen_stack *seen, const struct jp_truth_stack *truth)
{
	return seen->verdict == JP_WRONG && seen->unwound.stop == JP_UNWIND_UNMAPPED &&
	       begins_as_predicted(&seen->unwound, truth);
}

/* Returns whether the jitdumps have another function than @code at @addr, an address in @code. */
static bool has_other_load(const struct stacks *stacks, const struct jp_truth_code *code,
			   uint64_t addr, uint64_t time)
{
	const struct jp_code_load *load = jp_jit_cfi_at(stacks->jit, code->pid, addr, time);

	return load && (load->addr != code->addr || strcmp(load->name, code->name) != 0);
}

/* Returns whether the walk of a stack may use tables of other code than that which the thread ran:
 * of code that was at the same place before. The oracle asks for tables at the start of code, the
 * walk at the sampled address and before each return address. */
static bool uses_other_tables(const struct stacks *stacks, const struct jp_event *event)
{
	const struct jp_truth_stack *truth = &stacks->truth;
	const struct jp_truth_code *const *functions = truth->activation->path->functions;

	for (uint32_t depth = 0, frame = truth->depth; depth <= truth->depth; depth++, frame--) {
		const struct jp_truth_code *code = functions[depth];
		const uint64_t addr =
			frame < truth->nr_whole ? truth->frames[frame] - (frame > 0) : code->addr;

		if (has_other_load(stacks, code, code->addr, event->time) ||
		    (addr - code->addr < code->size &&
		     has_other_load(stacks, code, addr, event->time)))
			return true;
	}
	return false;
}

/* Counts a bad stack as an exception, and describes the first of its kind. Does nothing for a good
 * stack. Returns 0 or -ENOMEM. */
static int report(struct stacks *stacks, const struct jp_event *event,
		  const struct seen_stack *stack)
{
	const struct jp_truth_stack *truth = &stacks->truth;
	const struct jp_truth_code *code = truth->activation->path->functions[truth->depth];
	const struct jp_unwound *unwound = &stack->unwound;
	const char *cause, *metric = jp_stack_counts_metric(stack->verdict, &cause);
	struct jp_exception *exception;
	char text[256];

	if (!metric)
		return 0;
	exception = jp_findings_count(&stacks->view->findings, metric, stack->method,
				      stack->fault.cause);
	if (!exception)
		return -ENOMEM;
	if (stack->is_predicted || is_wrong_as_predicted(stack, truth))
		exception->nr_predicted++;
	else if (stack->method == JP_DUMP || stack->method == JP_DUMP_CFI)
		exception->nr_other_tables += uses_other_tables(stacks, event);
	if (exception->count > 1)
		return 0;
	snprintf(exception->example, sizeof(exception->example),
		 "%s at %" PRIu64 ", %u/%u, ip %" PRIx64
		 " in %s+%#x, depth %u of %u: %u frames seen, "
		 "%u must be, equal up to frame %u; %s",
		 jp_verdict_text(stack->verdict), event->time, event->pid, event->tid,
		 truth->frames[0], code->name, truth->offset, truth->depth + 1,
		 truth->activation->path->depth, unwound->count, truth->nr_seen,
		 jp_stack_count_same_frames(unwound->frames, unwound->count, truth->expected,
					    truth->nr_seen),
		 jp_stack_fault_text(&stack->fault, stacks->view->evidence, event, unwound, text,
				     sizeof(text)));
	return 0;
}

/* Reports wrong or extra frames of a stack with the verdict JP_UNMAPPED: both are faults. */
static int report_hidden_faults(struct stacks *stacks, const struct jp_event *event,
				const struct seen_stack *stack)
{
	struct jp_method_count *count = &stacks->counts.methods[stack->method];
	struct seen_stack hidden = *stack;

	if (stack->second_verdict == JP_UNMAPPED)
		return 0;
	hidden.verdict = stack->second_verdict;
	hidden.fault = stack->hidden_fault;
	count->hidden_verdicts[stack->second_verdict == JP_EXTRA]++;
	return report(stacks, event, &hidden);
}

/* Returns whether PerfView calls the stack broken: its outermost frame is in no file. */
static bool is_broken_in_perfview(const struct jp_view *view, const struct jp_event *event,
				  const struct jp_unwound *unwound)
{
	const struct jp_mapping *outermost =
		unwound->count ? jp_replay_find(view->spaces, event->pid,
						unwound->frames[unwound->count - 1])
			       : NULL;

	return !outermost || outermost->backing != JP_BACKING_FILE;
}

static void count_verdict(struct stacks *stacks, const struct jp_event *event,
			  enum jp_method method, enum jp_verdict verdict)
{
	jp_stack_counts_verdict(&stacks->counts, method, verdict, 1);
	stacks->counts.methods[method].in_kernel[verdict] +=
		jp_event_cpu_mode(event) == JP_CPU_KERNEL;
}

/* Walks the stack by @method, using @buf, and judges it. @sp: the sampled stack pointer. Returns 0
 * or -ENOMEM. */
static int judge_method(struct stacks *stacks, const struct jp_event *event, enum jp_method method,
			uint64_t sp, uint64_t *buf)
{
	struct jp_method_count *count = &stacks->counts.methods[method];
	struct seen_stack stack = {.method = method, .second_verdict = JP_UNMAPPED};

	/* A stream of observations stores every stack as a chain. */
	enum jp_method method_used = event->observed ? JP_CHAIN : method;

	jp_unwind(stacks->unwinder, stacks->view->spaces, event, method_used, buf, MAX_FRAMES,
		  &stack.unwound);
	stack.is_predicted = jp_stack_is_predicted(&stacks->truth, method_used, &stack.unwound, sp,
						   event->sample.stack_size);
	decide_verdict(stacks, event, &stack);
	count->nr_predicted += stack.is_predicted;
	if (event->observed)
		jp_stack_leaves_add(&stacks->leaves, jp_stack_leaf_find(&stacks->truth),
				    stack.verdict, stack.is_predicted, 1);
	count_verdict(stacks, event, method, stack.verdict);
	count->flagged += stack.verdict == JP_SHORT && stack.unwound.is_incomplete;
	count->complete += stack.fault.kind == JP_FAULT_COMPLETE;
	count->perfview += is_broken_in_perfview(stacks->view, event, &stack.unwound);
	count_process(stacks, event, &stack);
	return report_to_listener(stacks, event,
			       &(struct jp_decision){method, stack.verdict, stack.fault.cause,
						     stack.unwound.frames, stack.unwound.count,
						     &stacks->truth})
		       ?: report(stacks, event, &stack)
		       ?: report_hidden_faults(stacks, event, &stack);
}

/* Reports a sample that, according to the truth, cannot exist. */
static int report_forbidden(struct stacks *stacks, const struct jp_event *event,
			    enum jp_method method, enum jp_stack_answer answer, uint64_t ip,
			    uint64_t sp)
{
	bool no_activation = answer == JP_STACK_NO_ACTIVATION;
	struct jp_exception *exception = jp_findings_count(&stacks->view->findings, "wrong", method,
							   no_activation ? "no-stay" : "no-depth");
	count_verdict(stacks, event, method, JP_WRONG);
	if (exception && exception->count == 1)
		snprintf(exception->example, sizeof(exception->example),
			 "at %" PRIu64 ", %u/%u: ip %" PRIx64 " sp %" PRIx64 " %s", event->time,
			 event->pid, event->tid, ip, sp,
			 no_activation ? "in emitted code while the thread was in no path"
				       : "fits no depth of the path");
	return exception ? report_to_listener(stacks, event,
					      &(struct jp_decision){.method = method,
								    .verdict = JP_WRONG,
								    .cause = exception->cause})
			 : -ENOMEM;
}

/* Returns whether @method is judged and the sample has the data that @method needs. */
static bool has_method(const struct stacks *stacks, const struct jp_event *event,
		       enum jp_method method)
{
	const struct jp_evidence *evidence = stacks->view->evidence;
	uint32_t methods = stacks->view->asked->methods ?: JP_METHODS_USUAL;

	if (event->observed)
		return method == evidence->declared.method;
	if (!(methods >> method & 1))
		return false;
	/* A dump that was requested but is missing counts as a broken stack. */
	return method == JP_CHAIN ? event->sample.chain && !event->sample.kernel_chain
				  : evidence->info.stack_dump;
}

/* Returns the verdict of a sample's addresses against the true stack @truth. */
static enum jp_verdict compare_with_truth(void *context, const struct jp_truth_stack *truth)
{
	const uint64_t *recorded_ips;
	uint64_t count = jp_event_user_chain(context, &recorded_ips);

	return jp_stack_verdict(
		recorded_ips, (uint32_t)count, truth->faithful ? truth->expected : truth->frames,
		truth->faithful ? truth->nr_seen : truth->nr_whole, truth->frames, truth->nr_whole);
}

/* Counts a sample outside of emitted code, if the truth does not have its process or if its thread
 * was in an activation. */
static void count_outside_code(struct stacks *stacks, const struct jp_event *event)
{
	const struct jp_evidence *evidence = stacks->view->evidence;

	if (!jp_sample_is_watched(evidence, event->pid, UINT64_MAX))
		stacks->counts.foreign++;
	else
		stacks->counts.off_code += jp_truth_is_inside(evidence->truth, event->tid,
							      event->time, evidence->info.slack);
}

static int judge_sample(struct stacks *stacks, const struct jp_event *event)
{
	const struct jp_evidence *evidence = stacks->view->evidence;
	struct jp_truth_stack *truth = &stacks->truth;
	uint64_t buf[MAX_FRAMES], ip, sp;
	bool is_noted = false;

	if (jp_sample_has_no_frame(evidence, event))
		return jp_stack_counts_stackless(&stacks->counts, stacks->view, event);
	if (!jp_machine_user(stacks->view->machine, event, &ip, &sp) ||
	    !jp_truth_code_at(evidence->truth, event->pid, ip, event->time)) {
		count_outside_code(stacks, event);
		return 0;
	}
	stacks->counts.samples++;
	stacks->counts.kernel += !event->sample.user;
	if (evidence->info.stack_dump)
		stacks->counts.granted_least =
			jp_min(stacks->counts.granted_least, event->sample.stack_asked);
	for (enum jp_method method = 0; method < JP_METHODS; method++) {
		enum jp_stack_answer answer;
		int failed = 0;

		if (!has_method(stacks, event, method)) {
			stacks->counts.methods[method].absent++;
			continue;
		}
		answer = event->observed
				 ? jp_stack_guess_best_fit(evidence, event, method,
							   (struct jp_truth_guess){.ip = ip},
							   compare_with_truth, (void *)event, truth)
				 : jp_truth_stack_at(evidence->truth, event->pid, event->tid,
						     event->time, evidence->info.slack, ip, sp,
						     method, truth);
		if (answer == JP_STACK_UNJUDGED) {
			stacks->counts.methods[method].verdicts[JP_UNJUDGED]++;
			stacks->counts.methods[method].in_kernel[JP_UNJUDGED] +=
				jp_event_cpu_mode(event) == JP_CPU_KERNEL;
			stacks->counts.unjudged += !is_noted;
			is_noted = true;
			failed = report_to_listener(
				stacks, event,
				&(struct jp_decision){.method = method, .verdict = JP_UNJUDGED});
			if (failed)
				return failed;
			continue;
		}
		if (answer != JP_STACK_FOUND) {
			failed = report_forbidden(stacks, event, method, answer, ip, sp);
			if (failed)
				return failed;
			continue;
		}
		if (!is_noted)
			failed = jp_stack_counts_place(
				&stacks->counts,
				truth->activation->path->functions[truth->depth]->id,
				truth->offset);
		is_noted = true;
		if (!failed)
			failed = judge_method(stacks, event, method, sp, buf);
		if (failed)
			return failed;
	}
	return 0;
}

/* Returns whether the jitdump has unwinding tables for @code at @time. For jp_truth_stack. */
static bool has_unwind_info(void *context, const struct jp_truth_code *code, uint64_t time)
{
	const struct stacks *stacks = context;
	const struct jp_code_load *load = jp_jit_cfi_at(stacks->jit, code->pid, code->addr, time);

	return load && jp_jit_cfi_has_tables(stacks->jit, load);
}

/* Returns whether the capture lacks the file at @addr of @pid. For jp_truth_stack. */
static bool lacks_file(void *context, uint32_t pid, uint64_t addr)
{
	const struct stacks *stacks = context;

	return jp_unwinder_lacks_file(stacks->unwinder, stacks->view->spaces, pid, addr);
}

/* Returns whether walks follow frame pointers at @addr of @pid: the file of a memfd was not kept.
 * For jp_truth_stack. */
static bool seems_emitted(void *context, uint32_t pid, uint64_t addr)
{
	const struct stacks *stacks = context;

	return jp_unwinder_takes_for_emitted(stacks->unwinder, stacks->view->spaces, pid, addr);
}

/* Returns whether @mapping, which a profiler read from /proc, can be of the file with @build_id: by
 * the truth, the process had that file there until the capture sampled. After the file was
 * replaced, a newer one can have its name and its inode. For jp_unwinder_filter_files(). */
static bool may_be_file(void *context, const struct jp_mapping *mapping, const char *build_id)
{
	const struct jp_evidence *evidence = ((struct stacks *)context)->view->evidence;
	const struct jp_box box = {mapping->start, mapping->end, 0,
				   evidence->info.sampling + evidence->info.slack};
	struct jp_truth_files_at cursor = {0};
	struct jp_truth_file file;
	const size_t length = strlen(build_id);
	bool is_known = false;

	while (jp_truth_next_file(evidence->truth, mapping->pid, &box, &cursor, &file)) {
		is_known = true;
		if (strncmp(file.build_id, build_id, length) == 0 && file.build_id[length] == ' ')
			return true;
	}
	return !is_known;
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct stacks *stacks = view->state;

	return event->type == JP_EVENT_SAMPLE ? judge_sample(stacks, event)
					      : jp_jit_cfi_apply(stacks->jit, event);
}

/* Adds the share of loads with unwinding tables, and the share of unusable tables among them. */
static void add_tables(struct stacks *stacks)
{
	uint64_t tables = 0;

	for (size_t i = 0; i < stacks->loads.count; i++)
		tables += stacks->loads.loads[i].eh_frame != NULL;
	if (!tables)
		return;
	jp_findings_add_rate(&stacks->view->findings, "jit.tables", tables, stacks->loads.count);
	jp_findings_add_rate(&stacks->view->findings, "jit.unusable",
			     jp_jit_cfi_count_bad(stacks->jit), tables);
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_evidence *evidence = view->evidence;
	struct stacks *stacks = view->state;
	char elf_dir[4096];

	if (jp_path_build(elf_dir, sizeof(elf_dir), err, "%s/elf", evidence->dir) ||
	    jp_code_loads_read(evidence->dir, &stacks->loads, err))
		return -EINVAL;
	stacks->unwinder = jp_unwinder_new(elf_dir, NULL);
	stacks->jit = jp_jit_cfi_new(&stacks->loads, evidence->truth->e_machine);
	if (jp_stack_counts_init(&stacks->counts, evidence) || !stacks->unwinder || !stacks->jit)
		return -ENOMEM;
	jp_unwinder_max_stack(stacks->unwinder, evidence->info.max_stack);
	jp_unwinder_jit(stacks->unwinder, stacks->jit);
	jp_unwinder_filter_files(stacks->unwinder, may_be_file, stacks);
	stacks->truth.has_unwind_info = has_unwind_info;
	stacks->truth.lacks_file = lacks_file;
	stacks->truth.seems_emitted = seems_emitted;
	stacks->truth.context = stacks;
	return 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct stacks *stacks = view->state;

	if (jp_stack_leaves_judge(&stacks->leaves, &stacks->counts, view) ||
	    jp_stack_counts_add(&stacks->counts, view))
		return -ENOMEM;
	if (view->asked->methods)
		add_tables(stacks);
	return 0;
}

static void free_stacks(void *state)
{
	struct stacks *stacks = state;

	jp_truth_stack_free(&stacks->truth);
	jp_unwinder_free(stacks->unwinder);
	jp_jit_cfi_free(stacks->jit);
	jp_code_loads_free(&stacks->loads);
	jp_stack_counts_free(&stacks->counts);
}

JP_DEFINE(validator, broken_stacks) = {
	.name = "broken_stacks",
	.traits = JP_LACKS_RECORDS | JP_LACKS_REGISTERS | JP_LACKS_NAMES | JP_LACKS_MAPPINGS |
		  JP_LACKS_TASKS,
	.state_size = sizeof(struct stacks),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_stacks,
};

static const struct jp_excuse limits[] = {
	{"method-limit", NULL, "broken.* wrong.*",
	 "complete bad-frame bad-cfi no-cfi no-elf max-stack dump-end "
	 "wrong-frame kernel-walk",
	 "predicted", "the method cannot walk this code: the truth predicts each of its stacks"},
	{"untouched-page", NULL, "broken.*", "untouched", NULL,
	 "a dump is empty where the page at the stack pointer was never touched"},
	/* A thread can be sampled at an instruction that it cannot fetch: in the kernel's handler
	 * of the fault, or at an interrupt or a breakpoint, which come before the fetch (Intel's
	 * manual, volume 3, 6.9: priority of exceptions and interrupts). Its callers can be in such
	 * memory, too. */
	{"closed-memory", NULL, "broken.*", "closed", NULL,
	 "the memory was not executable, and the capture knows that"},
	{"copied-page", NULL, "broken.*", "copied", NULL,
	 "the page at the stack pointer was being copied after a fork"},
};
JP_REGISTER_ROWS(excuse, limits);
