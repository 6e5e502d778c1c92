/* SPDX-License-Identifier: Apache-2.0 */

/* Arguments of the subcommands. Not getopt_long: its state is global, it accepts abbreviations
 * (which a later option would break), and it cannot suggest the option that was probably meant. */

#include "arguments.h"

#include <string.h>

#include "nearest.h"
#include "terminal.h"

static int find_flag(const struct arguments *arguments, const char *name, size_t length) {
    for (int i = 0; arguments->flags[i].name != NULL; i++) {
        const char *known = arguments->flags[i].name;
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            return i;
        }
    }
    return ARGUMENT_WRONG;
}

static int find_letter(const struct arguments *arguments, const char *letters) {
    for (int i = 0; arguments->flags[i].name != NULL && letters[1] == '\0'; i++) {
        if (arguments->flags[i].letter == letters[0]) {
            return i;
        }
    }
    return ARGUMENT_WRONG;
}

static void print_unknown(const struct arguments *arguments, const char *word, size_t length) {
    const char *names[ARGUMENT_FLAGS_MAX + 1] = {0};
    for (size_t i = 0; i < ARGUMENT_FLAGS_MAX && arguments->flags[i].name != NULL; i++) {
        names[i] = arguments->flags[i].name;
    }
    char name[NEAREST_WORD_MAX + 1] = "";
    if (length <= NEAREST_WORD_MAX && length > 2) {
        memcpy(name, word + 2, length - 2);
    }
    const char *nearest = nearest_word(name, names);
    const int shown = length > 200 ? 200 : (int)length;
    if (nearest != NULL) {
        terminal_error(
            "unknown option '%.*s' for %s; did you mean '--%s'? (parley %s --help lists them)",
            shown, word, arguments->command, nearest, arguments->command);
    } else {
        terminal_error("unknown option '%.*s' for %s (parley %s --help lists them)", shown, word,
                       arguments->command, arguments->command);
    }
}

int arguments_next(struct arguments *arguments, const char **out_value) {
    *out_value = NULL;
    if (arguments->at >= arguments->argc) {
        return ARGUMENT_END;
    }
    const char *word = arguments->argv[arguments->at++];
    if (!arguments->has_only_operands && strcmp(word, "--") == 0) {
        arguments->has_only_operands = true;
        return arguments_next(arguments, out_value);
    }
    if (arguments->has_only_operands || word[0] != '-' || word[1] == '\0') {
        *out_value = word;
        return ARGUMENT_OPERAND;
    }
    const bool is_long = word[1] == '-';
    const size_t length = is_long ? strcspn(word, "=") : strlen(word);
    const int found =
        is_long ? find_flag(arguments, word + 2, length - 2) : find_letter(arguments, word + 1);
    if (found < 0) {
        print_unknown(arguments, word, length);
        return ARGUMENT_WRONG;
    }
    if (word[length] == '=') {
        *out_value = word + length + 1;
    } else if (!arguments->flags[found].has_value) {
        *out_value = "true";
    } else if (arguments->at < arguments->argc) {
        *out_value = arguments->argv[arguments->at++];
    } else {
        terminal_error("%s needs a value (see parley %s --help)", word, arguments->command);
        return ARGUMENT_WRONG;
    }
    return found;
}
