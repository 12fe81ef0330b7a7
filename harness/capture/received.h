/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

struct jp_received;
struct jp_session;

/* Writes the records in the session's rings to its perf.data file, without duplicates. Returns
 * whether there were any records. */
bool jp_received_drain(struct jp_session *session);
void jp_received_free(struct jp_received *records);
