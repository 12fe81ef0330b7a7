// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/stack_lines.h"

#include <inttypes.h>

#include "harness/base/json.h"

/* Addresses are text: most JSON readers keep 53 bits of a number. */
static void address(struct jp_json *json, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	jp_json_string(json, key, text);
}

static void addresses(struct jp_json *json, const char *key, const uint64_t *values, uint64_t count)
{
	jp_json_array(json, key);
	for (uint64_t i = 0; i < count; i++)
		address(json, NULL, values[i]);
	jp_json_end(json);
}

void jp_stack_line(FILE *out, const struct jp_event *sample, const struct jp_unwound *stack)
{
	struct jp_json json;

	jp_json_begin(&json, out);
	jp_json_object(&json, NULL);
	jp_json_u64(&json, "pid", sample->pid);
	jp_json_u64(&json, "tid", sample->tid);
	jp_json_u64(&json, "time", sample->time);
	address(&json, "ip", sample->sample.ip);
	jp_json_u64(&json, "dump", sample->sample.stack_size);
	jp_json_u64(&json, "asked", sample->sample.stack_asked);
	addresses(&json, "chain", sample->sample.chain, sample->sample.nr_chain);
	addresses(&json, "frames", stack->frames, stack->count);
	jp_json_string(&json, "stop", jp_unwind_stop_text(stack->stop));
	address(&json, "where", stack->where);
	jp_json_end(&json);
}
