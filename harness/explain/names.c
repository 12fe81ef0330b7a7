// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "harness/explain/name_causes.h"

static int make_state(struct jp_explain_view *view, struct jp_error *err)
{
	view->state = jp_name_losses_new(view->spaces, view->finder, view->names, view->changed,
					 view->ends);
	return view->state ? 0 : jp_fail(err, ENOMEM, "out of memory");
}

static int handle_event(struct jp_explain_view *view, const struct jp_event *event,
			const struct jp_stack *stack)
{
	return jp_name_losses_handle(view->state, event, stack);
}

static int blame_losses(struct jp_explain_view *view, struct jp_error *err)
{
	const struct jp_name_process *process;
	struct jp_name_loss *loss;

	for (size_t at = 0; (process = jp_name_losses_next_process(view->state, &at));)
		jp_note_map_owner(view, process);
	for (size_t at = 0; (loss = jp_name_losses_next(view->state, &at));) {
		const struct jp_name_case name_case = {
			.view = view,
			.losses = view->state,
			.loss = loss,
			.process = jp_name_losses_process(view->state, loss->pid),
		};

		if (!loss->samples)
			continue;
		if (!name_case.process)
			return jp_fail(err, ENOMEM, "out of memory");
		if (!jp_blame_symbols(&name_case) && !jp_blame_jitdump(&name_case) &&
		    !jp_blame_perf_map(&name_case))
			jp_blame_no_source(&name_case);
	}
	for (size_t at = 0; (process = jp_name_losses_next_process(view->state, &at));)
		jp_blame_unwinding(&(struct jp_name_case){
			.view = view,
			.losses = view->state,
			.loss = &(struct jp_name_loss){.pid = process->pid, .name = "memory"},
			.process = process,
		});
	return jp_name_losses_join(view->state) ? jp_fail(err, ENOMEM, "out of memory") : 0;
}

static void free_losses(void *losses)
{
	jp_name_losses_free(losses);
}

JP_DEFINE(explainer, names) = {
	.name = "names",
	.begin = make_state,
	.handle = handle_event,
	.end = blame_losses,
	.free = free_losses,
};
