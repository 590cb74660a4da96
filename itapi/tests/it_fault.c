/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_fault.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "it_door.h"

void
fault_begin(void)
{
	door_begin();
}

/* Was the adapter closed since it connected to the fault door? */
static bool
has_gone(int adapter)
{
	char octet;

	return recv(adapter, &octet, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

int
fault_meet(void)
{
	char name[DOOR_NAME];
	int adapter;

	while ((adapter = door_accept(name)) >= 0) {
		/* An adapter in front of another one, such as defect:none:emul:ib, ends with its name. */
		g_assert_true(g_str_has_suffix(pair_adapter(), name));
		if (!has_gone(adapter))
			break;
		close(adapter);
	}
	return adapter;
}

char *
fault_query(int adapter, const char *command)
{
	char answer[DOOR_ANSWER];

	door_command(adapter, command, answer);
	return g_strdup(answer);
}

void
fault_say(int adapter, const char *command)
{
	g_autofree char *answer = fault_query(adapter, command);

	g_assert_cmpstr(answer, ==, "ok");
}

void
fault_part(int adapter)
{
	if (adapter >= 0)
		close(adapter);
}

bool
faults_meet(struct faults *faults)
{
	faults->active = fault_meet();
	faults->passive = fault_meet();
	if (faults->passive >= 0)
		return true;
	g_assert_cmpint(faults->active, <, 0);
	pair_inapplicable("the fault door is of the emulated adapters");
	return false;
}

void
faults_part(const struct faults *faults)
{
	fault_part(faults->active);
	fault_part(faults->passive);
}
