/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Serves a folder: one file for each client. */

#include <string.h>
#include <unistd.h>

#include "cp_copy.h"
#include "cp_sides.h"
#include "tool_error.h"
#include "tool_serve.h"

/* What is served. */
struct service {
	const struct cp_job *job;
	int folder;
};

/* Tell the client why it is refused, and wait until it has received that. */
static void
refuse_client(struct cp_end *end, const GError *why)
{
	struct cp_letter answer = {.word = CP_ANSWER, .text = why->message};

	if (cp_letter_send(&end->mail, &answer, NULL))
		tool_link_linger(&end->link);
}

static bool
take_file(struct cp_end *end, struct cp_copy *copy, int folder, const struct cp_letter *request,
	  GError **error)
{
	struct cp_letter answer = {.word = CP_ANSWER, .good = true};
	struct cp_target target;
	GError *trouble = NULL;
	bool good;

	if (!cp_target_open(&target, folder, request->text, (mode_t)request->mode, &trouble)) {
		refuse_client(end, trouble);
		g_propagate_error(error, trouble);
		return false;
	}
	copy->size = request->size;
	answer.context = copy->ring.context;
	answer.address = tool_memory_address(&copy->ring);
	good = cp_letter_send(&end->mail, &answer, error) && cp_receive(copy, &target, error);
	cp_target_close(&target);
	return good;
}

static bool
give_file(struct cp_end *end, struct cp_copy *copy, int folder, const struct cp_letter *request,
	  GError **error)
{
	struct cp_letter answer = {.word = CP_ANSWER, .good = true};
	struct cp_source source;
	GError *trouble = NULL;
	bool good;

	if (!cp_source_open(&source, folder, request->text, &trouble)) {
		refuse_client(end, trouble);
		g_propagate_error(error, trouble);
		return false;
	}
	answer.size = source.size;
	answer.mode = source.mode;
	copy->peer_context = request->context;
	copy->peer_address = request->address;
	good = cp_letter_send(&end->mail, &answer, error) && cp_send(copy, &source, error);
	cp_source_close(&source);
	return good;
}

/* A chunk was moved: the client goes on. */
static void
count_chunk(const struct cp_copy *copy, void *watch)
{
	(void)copy;
	atomic_fetch_add(&((struct tool_watch *)watch)->heard, 1);
}

static bool
serve_request(struct cp_end *end, int folder, const struct cp_letter *request, GError **error)
{
	struct cp_copy copy;
	bool good;

	if (request->word != CP_REQUEST || !cp_sum_known(request->sum))
		return tool_fail(error, TOOL_ERROR_PEER, "the client began with nonsense");
	good = cp_copy_open(&copy, &end->mail, (enum cp_sum_kind)request->sum, request->good,
			    error);
	copy.progress = count_chunk;
	copy.progress_arg = end->link.spec.watch;
	good = good && (request->good ? take_file(end, &copy, folder, request, error)
				      : give_file(end, &copy, folder, request, error));
	if (good)
		tool_link_linger(&end->link);
	tool_link_close(&end->link); /* no Write can reach the ring any more */
	cp_copy_close(&copy);
	return good;
}

static bool
serve_one(void *arg, struct tool_client *client, GError **error)
{
	const struct service *serving = arg;
	const struct tool_options *options = &serving->job->options;
	struct tool_hello hello = client->hello;
	struct cp_letter letter = {0};
	struct cp_end end;
	bool good;

	hello.abilities = cp_sum_all();
	good = cp_end_open(&end, client->adapter, options->seconds, &client->watch, error) &&
	       tool_link_accept(&end.link, &client->request, &hello, error) &&
	       cp_letter_receive(&end.mail, &letter, error) &&
	       serve_request(&end, serving->folder, &letter, error);
	cp_letter_clear(&letter);
	cp_end_close(&end);
	return good;
}

bool
cp_server(void *arg, struct tool_ready *ready, GError **error)
{
	const struct cp_job *job = arg;
	struct service serving = {.job = job, .folder = cp_folder_open(job->folder, error)};
	struct tool_service service = {.program = "it-cp",
				       .tool = TOOL_CP,
				       .options = &job->options,
				       .one = serve_one,
				       .arg = &serving};
	bool good;

	if (serving.folder < 0)
		return false;
	good = tool_serve(&service, ready, error);
	close(serving.folder);
	return good;
}
