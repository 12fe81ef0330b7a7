// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/space/processes.h"

#include <errno.h>
#include <stdlib.h>

struct jp_process *jp_processes_find(struct jp_processes *processes, uint32_t pid)
{
	struct jp_process **link;

	if (processes->last && processes->last->pid == pid)
		return processes->last;
	link = jp_map_find(&processes->by_pid, pid);
	if (link)
		processes->last = *link;
	return link ? *link : NULL;
}

struct jp_process *jp_processes_at(struct jp_processes *processes, uint32_t pid)
{
	struct jp_process *process = jp_processes_find(processes, pid), **link;

	if (process)
		return process;
	process = calloc(1, processes->rules->size);
	link = process ? jp_map_at(&processes->by_pid, pid, sizeof(*link)) : NULL;
	if (!link) {
		free(process);
		return NULL;
	}
	process->pid = pid;
	process->shares = process->shared_by = process;
	return *link = process;
}

static void stop_sharing(struct jp_process *process)
{
	process->shared_by->shares = process->shares;
	process->shares->shared_by = process->shared_by;
	process->shares = process->shared_by = process;
}

static void share_space(struct jp_process *process, struct jp_process *with)
{
	process->shares = with->shares;
	process->shared_by = with;
	process->shares->shared_by = with->shares = process;
}

int jp_processes_apply(struct jp_processes *processes, const struct jp_event *event)
{
	struct jp_process *process, *parent;
	int ret;

	if (event->type != JP_EVENT_END && !jp_event_starts_process(event))
		return 0;
	process = jp_processes_at(processes, event->pid);
	if (!process)
		return -ENOMEM;
	stop_sharing(process);
	ret = processes->rules->end(processes->context, process, event);
	if (ret || event->type != JP_EVENT_FORK)
		return ret;
	if (event->task.start_kind != JP_START_SHARE) {
		parent = jp_processes_find(processes, event->task.ppid);
		return parent ? processes->rules->inherit(processes->context, process, parent,
							  event)
			      : 0;
	}
	parent = jp_processes_at(processes, event->task.ppid);
	if (!parent)
		return -ENOMEM;
	share_space(process, parent);
	return processes->rules->inherit(processes->context, process, parent, event);
}

struct jp_process *jp_processes_next(const struct jp_processes *processes, size_t *cursor)
{
	struct jp_process **next = jp_map_next(&processes->by_pid, cursor, NULL);

	return next ? *next : NULL;
}

void jp_processes_free(struct jp_processes *processes)
{
	struct jp_process *process;

	for (size_t cursor = 0; (process = jp_processes_next(processes, &cursor));)
		free(process);
	jp_map_free(&processes->by_pid);
}
