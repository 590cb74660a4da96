/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <stdio.h>
#include <string.h>

#include "cp_copy.h"
#include "cp_progress.h"
#include "cp_sides.h"
#include "tool_error.h"
#include "tool_json.h"
#include "tool_print.h"

/* The local file, opened before the server is contacted: one of the two. */
struct cp_local {
	struct cp_source source;
	struct cp_target target;
};

bool
cp_end_open(struct cp_end *end, struct tool_adapter *adapter, unsigned seconds,
	    struct tool_watch *watch, GError **error)
{
	struct tool_link_spec spec = tool_mail_spec(seconds);

	spec.watch = watch;
	memset(end, 0, sizeof(*end));
	return tool_link_make(&end->link, adapter, &spec, error) &&
	       tool_mail_open(&end->mail, &end->link, error);
}

void
cp_end_close(struct cp_end *end)
{
	tool_link_close(&end->link);
	tool_mail_close(&end->mail);
}

/* Where the path begins behind ADDRESS] and perhaps a port; NULL: it has no ":PATH". */
static const char *
behind_address(const char *bracket)
{
	const char *digits;
	size_t count;

	if (bracket[0] == '\0' || bracket[1] != ':')
		return NULL;
	digits = bracket + 2;
	count = strspn(digits, "0123456789");
	return count > 0 && digits[count] == ':' ? digits + count + 1 : digits;
}

/*
 * Split HOST:PATH, [ADDRESS]:PATH or [ADDRESS]:PORT:PATH; false if the argument is a local path. The host is as
 * tool_way_split takes it.
 */
static bool
split_remote(const char *typed, char **host, char **path)
{
	const char *bracket = *typed == '[' ? strchr(typed, ']') : NULL;
	const char *colon = *typed == '[' ? NULL : strchr(typed, ':');
	const char *slash = strchr(typed, '/');
	const char *rest = colon != NULL ? colon + 1 : NULL;

	if (bracket != NULL)
		rest = behind_address(bracket);
	if (rest == NULL || (slash != NULL && slash < rest - 1))
		return false;
	*host = g_strndup(typed, (size_t)(rest - typed) - 1);
	*path = g_strdup(rest);
	return true;
}

/* If the target is a folder, append the file's own name. */
static void
target_complete(char **target, const char *source, bool folder)
{
	g_autofree char *name = g_path_get_basename(source);
	g_autofree char *typed = *target;

	if (folder)
		*target = *typed == '\0' ? g_strdup(name) : g_build_filename(typed, name, NULL);
	else
		*target = g_steal_pointer(&typed);
}

bool
cp_job_sort(struct cp_job *job, GError **error)
{
	g_autofree char *other_host = NULL;
	g_autofree char *other_path = NULL;
	bool from_remote = split_remote(job->source, &job->host, &job->remote);
	bool to_remote = split_remote(job->target, from_remote ? &other_host : &job->host,
				      from_remote ? &other_path : &job->remote);

	if (from_remote == to_remote)
		return tool_fail(error, TOOL_ERROR_USAGE,
				 "one of '%s' and '%s' must be HOST:PATH, the other a path",
				 job->source, job->target);
	job->put = to_remote;
	if (job->put) {
		job->local = g_strdup(job->source);
		target_complete(&job->remote, job->local,
				*job->remote == '\0' || g_str_has_suffix(job->remote, "/"));
	} else {
		job->local = g_strdup(job->target);
		target_complete(&job->local, job->remote,
				g_file_test(job->local, G_FILE_TEST_IS_DIR));
	}
	return true;
}

void
cp_job_clear(struct cp_job *job)
{
	g_free(job->folder);
	g_free(job->host);
	g_free(job->remote);
	g_free(job->local);
}

static void
report_copy(const struct cp_job *job, const struct cp_copy *copy, gint64 us)
{
	g_autofree char *name = tool_escape(job->put ? job->remote : job->local);
	double seconds = (double)MAX(us, 1) / G_USEC_PER_SEC;
	double rate = (double)copy->size / 1e6 / seconds;
	JsonBuilder *json;

	if (!job->options.json && !job->quiet)
		printf("%s: %" G_GUINT64_FORMAT " octets in %.2f s, %.1f MB/s, %s %s verified\n",
		       name, copy->size, seconds, rate, cp_sum_name(copy->kind), copy->checksum);
	if (!job->options.json)
		return;
	json = tool_json_begin("it-cp");
	tool_json_boolean(json, "ok", true);
	tool_json_text(json, "adapter", job->options.adapter);
	tool_json_count(json, "octets", copy->size);
	tool_json_number(json, "seconds", seconds);
	tool_json_number(json, "megabytes_per_second", rate);
	tool_json_text(json, "checksum", cp_sum_name(copy->kind));
	tool_json_text(json, "value", copy->checksum);
	tool_json_print(json);
}

/* Send the request and receive the answer; *answer holds it. */
static bool
send_request(struct cp_end *end, const struct cp_letter *request, struct cp_letter *answer,
	     GError **error)
{
	if (!cp_letter_send(&end->mail, request, error) ||
	    !cp_letter_receive(&end->mail, answer, error))
		return false;
	if (answer->word != CP_ANSWER)
		return tool_fail(error, TOOL_ERROR_PEER, "the server is out of turn");
	return answer->good ||
	       tool_fail(error, TOOL_ERROR_PEER, "the server says: %s", answer->text);
}

static bool
put_file(struct cp_job *job, struct cp_end *end, struct cp_copy *copy, struct cp_local *local,
	 GError **error)
{
	struct cp_letter request = {.word = CP_REQUEST, .good = true, .sum = (uint8_t)job->kind};
	struct cp_letter answer = {0};
	bool good;

	request.size = local->source.size;
	request.mode = local->source.mode;
	request.text = job->remote;
	good = send_request(end, &request, &answer, error);
	copy->peer_context = answer.context;
	copy->peer_address = answer.address;
	good = good && cp_send(copy, &local->source, error);
	cp_letter_clear(&answer);
	return good;
}

static bool
get_file(struct cp_job *job, struct cp_end *end, struct cp_copy *copy, struct cp_local *local,
	 GError **error)
{
	struct cp_letter request = {.word = CP_REQUEST, .sum = (uint8_t)job->kind};
	struct cp_letter answer = {0};
	bool good;

	request.context = copy->ring.context;
	request.address = tool_memory_address(&copy->ring);
	request.text = job->remote;
	good = send_request(end, &request, &answer, error);
	copy->size = answer.size;
	cp_target_set_mode(&local->target, (mode_t)answer.mode);
	good = good && cp_receive(copy, &local->target, error);
	cp_letter_clear(&answer);
	return good;
}

static bool
copy_over(struct cp_job *job, struct cp_end *end, struct cp_local *local, GError **error)
{
	bool shown = !job->quiet && !job->options.json && job->progress;
	struct cp_progress progress;
	struct cp_copy copy;
	gint64 begin = g_get_monotonic_time();
	bool good;

	cp_progress_begin(&progress, shown);
	good = cp_copy_open(&copy, &end->mail, job->kind, !job->put, error);
	copy.progress = cp_progress_step;
	copy.progress_arg = &progress;
	good = good && (job->put ? put_file(job, end, &copy, local, error)
				 : get_file(job, end, &copy, local, error));
	cp_progress_end(&progress);
	if (good)
		report_copy(job, &copy, g_get_monotonic_time() - begin);
	tool_link_close(&end->link); /* no Write can reach the ring any more */
	cp_copy_close(&copy);
	return good;
}

static bool
connect_to(struct cp_job *job, struct tool_adapter *adapter, struct cp_end *end, uint16_t port,
	   GError **error)
{
	struct tool_hello hello = {.version = TOOL_VERSION, .tool = TOOL_CP};
	struct tool_way way;
	bool good = tool_way_find(&way, adapter, job->options.self ? NULL : job->host, port, error);

	while (good) {
		good = cp_end_open(end, adapter, job->options.seconds, NULL, error) &&
		       tool_link_connect(&end->link, &way, &hello, error);
		if (good)
			break;
		cp_end_close(end);
		good = tool_way_next(&way, error);
	}
	tool_way_clear(&way);
	return good && (cp_sum_agree(&job->kind, end->link.abilities) ||
			tool_fail(error, TOOL_ERROR_PEER,
				  "the server is of a version without %s; it has sha256 and crc32c",
				  cp_sum_name(job->kind)));
}

static bool
local_open(struct cp_local *local, const struct cp_job *job, GError **error)
{
	return job->put ? cp_source_open(&local->source, -1, job->local, error)
			: cp_target_open(&local->target, -1, job->local, 0, error);
}

static void
local_close(struct cp_local *local)
{
	cp_source_close(&local->source);
	cp_target_close(&local->target);
}

bool
cp_client(void *arg, uint16_t port, GError **error)
{
	struct cp_local local = {.source = {.fd = -1}, .target = {.fd = -1, .folder = -1}};
	struct cp_job *job = arg;
	struct tool_adapter adapter;
	struct cp_end end = {0};
	bool good;

	if (!local_open(&local, job, error))
		return false;
	if (!tool_adapter_open(&adapter, job->options.adapter, error)) {
		local_close(&local);
		return false;
	}
	good = connect_to(job, &adapter, &end, port, error) && copy_over(job, &end, &local, error);
	cp_end_close(&end);
	tool_adapter_close(&adapter);
	local_close(&local);
	return good;
}
