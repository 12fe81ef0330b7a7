/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

struct jp_heard;
struct jp_session;

/* Writes the records in the rings to the file. Returns whether there were any. */
bool jp_heard_drain(struct jp_session *session);
void jp_heard_free(struct jp_heard *heard);
