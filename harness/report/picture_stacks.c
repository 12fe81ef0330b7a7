// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/picture_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int jp_stack_move_begin(struct jp_stack_move *move, const struct jp_text_pool *pool)
{
	*move = (struct jp_stack_move){
		.old_stacks = calloc(pool->count + 1, sizeof(*move->old_stacks)),
		.new_numbers = calloc(pool->count + 1, sizeof(*move->new_numbers))};
	if (!move->old_stacks || !move->new_numbers || !jp_text_keep(&move->new_pool, "", 0))
		return -ENOMEM;
	for (const struct jp_text *text = pool->first; text; text = text->next)
		move->old_stacks[text->number] = text;
	return 0;
}

int jp_stack_move(struct jp_stack_move *move, size_t *number)
{
	uint32_t path[JP_PICTURE_FRAMES], callers = 0;
	struct jp_picture_frame frame;
	size_t depth = 0;

	for (uint32_t old_number = (uint32_t)*number; old_number && depth < JP_PICTURE_FRAMES;
	     old_number = frame.callers) {
		callers = move->new_numbers[old_number];
		if (callers)
			break;
		path[depth++] = old_number;
		memcpy(&frame, move->old_stacks[old_number]->bytes, sizeof(frame));
	}
	while (depth--) {
		const struct jp_text *stored;

		memcpy(&frame, move->old_stacks[path[depth]]->bytes, sizeof(frame));
		frame.callers = callers;
		stored = jp_text_keep(&move->new_pool, &frame, sizeof(frame));
		if (!stored)
			return -ENOMEM;
		callers = move->new_numbers[path[depth]] = (uint32_t)stored->number;
	}
	*number = callers;
	return 0;
}

void jp_stack_move_end(struct jp_stack_move *move, struct jp_text_pool *pool)
{
	jp_text_pool_free(pool);
	*pool = move->new_pool;
	free(move->old_stacks);
	free(move->new_numbers);
}
