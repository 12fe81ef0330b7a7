// SPDX-License-Identifier: GPL-2.0-only
#include "validators/code_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct jp_code_name jp_code_name_at(const struct jp_naming *naming, const struct jp_life *life,
				    uint64_t ip)
{
	struct jp_code_name name = {
		.life = life, .ip = ip, .covered = ip >= life->low && ip < life->high};
	struct jp_name yielded;

	name.mapping = jp_replay_find(naming->view->spaces, life->code->pid, ip);
	yielded = jp_names_find(naming->names, name.mapping, ip);
	name.found = yielded.text;
	name.how = yielded.how;
	if (!name.found)
		name.named = JP_NAME_NONE;
	else if (strcmp(name.found, life->code->name) == 0)
		name.named = JP_NAME_RIGHT;
	else
		name.named = JP_NAME_WRONG;
	return name;
}

/* Returns the cause for a wrong name: of code that was at this address before, or came later? */
static const char *whose(const struct jp_incarnations *incarnations,
			 const struct jp_code_name *name)
{
	const struct jp_truth_code *own = name->life->code;

	for (size_t i = jp_incarnations_from(incarnations, own->pid, name->ip);
	     i < incarnations->count; i++) {
		const struct jp_truth_code *code = incarnations->incarnations[i].code;

		if (code->pid != own->pid || code->addr > name->ip)
			break;
		if (code != own && name->ip - code->addr < code->size &&
		    strcmp(code->name, name->found) == 0)
			return code->loaded < own->loaded ? "stale" : "later";
	}
	return NULL;
}

const char *jp_code_name_cause(const struct jp_naming *naming, const struct jp_code_name *name,
			       uint64_t time)
{
	bool asked = naming->view->asked->injected, by_dump = naming->loads->folder.count > 0,
	     injected;
	const char *cause = name->found ? whose(naming->incarnations, name) : NULL;

	if (cause)
		return cause;
	if (name->found &&
	    jp_incarnations_others(naming->incarnations, name->life->code->pid, name->found))
		return "wrong-owner";
	if (!name->mapping)
		return jp_name_how_text[name->how];
	if (asked && name->covered)
		return "hidden";
	if (name->found)
		return "other-name";
	if (by_dump && name->life->published == UINT64_MAX)
		return "not-published";
	injected = jp_names_injected(naming->names, name->mapping);
	if (asked && by_dump && !injected)
		return name->life->published > time ? "late" : "not-injected";
	/* The perf map does not contain it. */
	return name->how == JP_NAME_NOT_IN_MAP && !injected ? "not-published"
							    : jp_name_how_text[name->how];
}

const char *jp_code_name_text(const struct jp_code_name *name, char *text, size_t size)
{
	const struct jp_truth_code *code = name->life->code;
	const struct jp_hider *hider = &name->life->hider;
	int used = snprintf(text, size, "%s+%#" PRIx64 ", loaded at %" PRIu64 ": %s%.60s (%s)",
			    code->name, name->ip - code->addr, code->loaded,
			    name->found ? "named " : "no name", name->found ?: "",
			    jp_name_how_text[name->how]);

	if (name->mapping && used >= 0 && (size_t)used < size)
		used += snprintf(text + used, size - (size_t)used,
				 " by the record of %" PRIu64 " of %.60s", name->mapping->since,
				 name->mapping->name);
	if (name->covered && used >= 0 && (size_t)used < size)
		snprintf(text + used, size - (size_t)used,
			 "; %" PRIx64 "-%" PRIx64 " %.40s of %" PRIu64 " (offset %" PRIu64
			 ", %s) hid it",
			 hider->start, hider->end, hider->name, hider->time, hider->at,
			 hider->cause);
	return text;
}
