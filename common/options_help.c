#include "common/options.h"

#include <string.h>

enum { HELP_WIDTH = 80, COLUMN_MAX = 30 };

/* Words of text from column `at`, wrapped and indented to `indent`. */
static void print_wrapped(FILE *out, const char *text, int indent, int at)
{
    const char *blank = "";
    for (const char *word = text; *word;) {
        int len = (int)strcspn(word, " \n");
        if (at > indent && at + (int)strlen(blank) + len > HELP_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            blank = "";
        }
        fprintf(out, "%s%.*s", blank, len, word);
        at += (int)strlen(blank) + len;
        word += len;
        blank = " ";
        if (*word == '\n') {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            blank = "";
        }
        word += *word != '\0';
    }
    fputc('\n', out);
}

static int format_left(const rkb_option_t *option, char *buf, size_t size)
{
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    const char *arg = option->kind == RKB_OPT_FLAG ? NULL : option->arg ? option->arg : "VALUE";
    return snprintf(buf, size, "  %s--%s%s%s", letter, option->name, arg ? " " : "",
                    arg ? arg : "");
}

static void print_row(FILE *out, const char *left, const char *help, int column)
{
    int len = (int)strlen(left);
    fputs(left, out);
    if (len + 2 > column) {
        fprintf(out, "\n%*s", column, "");
    } else {
        fprintf(out, "%*s", column - len, "");
    }
    print_wrapped(out, help, column, column);
}

void rkb_options_help(const rkb_command_line_t *line, FILE *out)
{
    static const rkb_option_t common[] = {
        {.name = "help", .kind = RKB_OPT_FLAG, .help = "show this text"},
        {.name = "version", .kind = RKB_OPT_FLAG, .help = "show the version"},
        {.name = NULL},
    };
    const rkb_option_t *const tables[] = {line->options, common};
    char left[256];
    int column = 0;
    for (int t = 0; t < 2; t++) {
        for (const rkb_option_t *option = tables[t]; option->name; option++) {
            int len = format_left(option, left, sizeof left) + 2;
            if (len > column && len <= COLUMN_MAX)
                column = len;
        }
    }
    fprintf(out, "usage: %s %s\n\n", line->program, line->synopsis ? line->synopsis : "[options]");
    if (line->summary) {
        print_wrapped(out, line->summary, 0, 0);
        fputc('\n', out);
    }
    fputs("options:\n", out);
    for (int t = 0; t < 2; t++) {
        for (const rkb_option_t *option = tables[t]; option->name; option++) {
            format_left(option, left, sizeof left);
            print_row(out, left, option->help ? option->help : "", column);
        }
    }
    if (line->epilog)
        fprintf(out, "\n%s%s", line->epilog,
                line->epilog[0] && line->epilog[strlen(line->epilog) - 1] == '\n' ? "" : "\n");
}
