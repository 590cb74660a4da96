/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Runs a corpus through a harness, without libFuzzer, as a TAP test: fuzz-replay FILE.hex. Each line of the file
 * is one input in hexadecimal digits; empty lines and lines that begin with '#' are comments. The line
 * that is being run is printed before it runs, so the last one printed is that of a crash.
 */
#include <ctype.h>

#include "fuzz.h"

/* The value of a digit; -1: the character is not a digit. */
static int
digit_value(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = c != '\0' ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return found != NULL ? (int)(found - digits) : -1;
}

/* The octets of a line, which it holds from now on; -1: it is no hexadecimal text. */
static ssize_t
line_decode(char *line, size_t length)
{
	if (length % 2 != 0)
		return -1;
	for (size_t i = 0; i < length; i += 2) {
		int high = digit_value(line[i]);
		int low = digit_value(line[i + 1]);

		if (high < 0 || low < 0)
			return -1;
		line[i / 2] = (char)(high << 4 | low);
	}
	return (ssize_t)(length / 2);
}

/* Run the inputs of a file; returns how many, -1: it cannot be used. */
static int
file_run(FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	int inputs = 0;

	for (unsigned number = 1; inputs >= 0; number++) {
		ssize_t length = getline(&line, &room, file);
		uint8_t *input;

		if (length < 0)
			break;
		length -= line[length - 1] == '\n';
		if (length == 0 || line[0] == '#')
			continue;
		length = line_decode(line, (size_t)length);
		if (length < 0) {
			printf("# line %u is not hexadecimal\n", number);
			inputs = -1;
			continue;
		}
		printf("# line %u\n", number);
		fflush(stdout);
		input = fuzz_copy((const uint8_t *)line, (size_t)length);
		(void)LLVMFuzzerTestOneInput(input, (size_t)length);
		free(input);
		inputs++;
	}
	free(line);
	return inputs;
}

int
main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "re") : NULL;
	int inputs = file != NULL ? file_run(file) : -1;

	printf("1..1\n%s 1 - %d inputs of %s\n", inputs > 0 ? "ok" : "not ok", inputs,
	       argc == 2 ? argv[1] : "no file");
	if (file != NULL)
		fclose(file);
	return inputs > 0 ? 0 : 1;
}
