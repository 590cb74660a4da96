/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Lines of the log about connections. */
#ifndef KAL_CM_LOG_H
#define KAL_CM_LOG_H

#include <stdbool.h>

#include "ri_log.h"
#include "rnicpi.h"

struct kal_cm;
struct kal_request;
struct kal_setup;

#define KAL_SAYING_MAX 320
#define KAL_WHY_MAX    240 /* of a finding or verdict in words */
/* A line for the log, made under locks and written without them: the writer may be the application's. */
struct kal_saying {
	struct ri_log_about about;
	char peer[RI_LOG_ADDRESS];
	char text[KAL_SAYING_MAX];
};
bool kal_say_wanted(const struct kal_cm *cm);
void kal_say(const struct ri_host *host, const struct kal_saying *saying);
/* Under verbs. */
void kal_say_failure(const struct kal_setup *setup, const char *why, struct kal_saying *saying);
/* Say at once that a request is refused; its descriptor is still there. */
void kal_say_refused(struct kal_request *request, const char *why);

#endif /* KAL_CM_LOG_H */
