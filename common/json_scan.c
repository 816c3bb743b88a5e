#include "common/json_scan.h"

#include "common/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 63 }; /* cJSON reads no longer ones */

static bool fail(rkb_json_scan_t *scan, const char *fault)
{
    scan->fault = fault;
    return false;
}

/* The byte at the scan position; 0 at the end, which no rule accepts (a NUL in the text neither).
 */
static char peek(const rkb_json_scan_t *scan)
{
    return scan->at < scan->len ? scan->text[scan->at] : '\0';
}

static void skip_blanks(rkb_json_scan_t *scan)
{
    while (scan->at < scan->len && memchr(" \t\n\r", scan->text[scan->at], 4))
        scan->at++;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t skip_digits(rkb_json_scan_t *scan)
{
    size_t first = scan->at;
    while (is_digit(peek(scan)))
        scan->at++;
    return scan->at - first;
}

static bool scan_number(rkb_json_scan_t *scan)
{
    size_t first = scan->at;
    if (peek(scan) == '-')
        scan->at++;
    if (peek(scan) == '0') {
        scan->at++;
        if (is_digit(peek(scan)))
            return fail(scan, "a number must not begin with 0");
    } else if (skip_digits(scan) == 0) {
        return fail(scan, "expected a digit");
    }
    if (peek(scan) == '.') {
        scan->at++;
        if (skip_digits(scan) == 0)
            return fail(scan, "expected a digit after the decimal point");
    }
    if (peek(scan) == 'e' || peek(scan) == 'E') {
        scan->at++;
        if (peek(scan) == '+' || peek(scan) == '-')
            scan->at++;
        if (skip_digits(scan) == 0)
            return fail(scan, "expected a digit in the exponent");
    }
    size_t len = scan->at - first;
    char copy[NUMBER_MAX + 1];
    if (len > NUMBER_MAX) {
        scan->at = first;
        return fail(scan, "number with too many digits");
    }
    memcpy(copy, scan->text + first, len);
    copy[len] = '\0';
    if (fabs(strtod(copy, NULL)) > RKB_JSON_NUMBER_MAX) {
        scan->at = first;
        return fail(scan, "number too large: infinity is refused");
    }
    return true;
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* After "\u": four hex digits. Returns -1 on a fault. */
static int scan_hex4(rkb_json_scan_t *scan)
{
    int code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(peek(scan));
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
        scan->at++;
    }
    return code;
}

static bool scan_unicode_escape(rkb_json_scan_t *scan)
{
    int code = scan_hex4(scan);
    if (code < 0)
        return fail(scan, "expected four hexadecimal digits after \\u");
    if (code == 0)
        return fail(scan, "\\u0000 in a string is refused");
    if (code >= 0xdc00 && code <= 0xdfff)
        return fail(scan, "second half of a surrogate pair without the first");
    if (code < 0xd800 || code > 0xdbff)
        return true;
    if (scan->at + 2 <= scan->len && memcmp(scan->text + scan->at, "\\u", 2) == 0) {
        scan->at += 2;
        int low = scan_hex4(scan);
        if (low >= 0xdc00 && low <= 0xdfff)
            return true;
    }
    return fail(scan, "first half of a surrogate pair without the second");
}

static bool scan_string(rkb_json_scan_t *scan)
{
    size_t first = scan->at++;
    while (scan->at < scan->len) {
        unsigned char c = (unsigned char)scan->text[scan->at];
        if (c == '"') {
            scan->at++;
            return true;
        }
        if (c < 0x20)
            return fail(scan, "control character in a string: write it as an escape");
        if (c == '\\') {
            scan->at++;
            char escape = peek(scan);
            if (escape == '\0' || !strchr("\"\\/bfnrtu", escape))
                return fail(scan, "unknown escape in a string");
            scan->at++;
            if (escape == 'u' && !scan_unicode_escape(scan))
                return false;
            continue;
        }
        size_t length = rkb_text_utf8_length(scan->text + scan->at, scan->len - scan->at);
        if (length == 0)
            return fail(scan, "invalid UTF-8 in a string");
        scan->at += length;
    }
    scan->at = first;
    return fail(scan, "string without end");
}

static bool scan_word(rkb_json_scan_t *scan, const char *word)
{
    size_t len = strlen(word);
    if (scan->len - scan->at < len || memcmp(scan->text + scan->at, word, len) != 0)
        return fail(scan, "expected a value");
    scan->at += len;
    return true;
}

static bool scan_value(rkb_json_scan_t *scan, int depth);

static bool scan_key(rkb_json_scan_t *scan)
{
    if (peek(scan) != '"')
        return fail(scan, "expected a member name in double quotes");
    if (scan->keys++ == scan->stop_at_key)
        return false;
    if (!scan_string(scan))
        return false;
    skip_blanks(scan);
    if (peek(scan) != ':')
        return fail(scan, "expected ':'");
    scan->at++;
    return true;
}

/* Objects and arrays differ in their closing bracket and in the member names only. */
static bool scan_container(rkb_json_scan_t *scan, char close, int depth)
{
    if (depth > RKB_JSON_DEPTH_MAX)
        return fail(scan, "nested too deeply");
    scan->at++;
    skip_blanks(scan);
    if (peek(scan) == close) {
        scan->at++;
        return true;
    }
    for (;;) {
        skip_blanks(scan);
        if (close == '}' && !scan_key(scan))
            return false;
        if (!scan_value(scan, depth))
            return false;
        skip_blanks(scan);
        if (peek(scan) == close) {
            scan->at++;
            return true;
        }
        if (peek(scan) != ',')
            return fail(scan, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
        scan->at++;
    }
}

static bool scan_value(rkb_json_scan_t *scan, int depth)
{
    skip_blanks(scan);
    if (scan->at == scan->len)
        return fail(scan, "the text ends where a value is expected");
    char c = peek(scan);
    switch (c) {
    case '{':
        return scan_container(scan, '}', depth + 1);
    case '[':
        return scan_container(scan, ']', depth + 1);
    case '"':
        return scan_string(scan);
    case 't':
        return scan_word(scan, "true");
    case 'f':
        return scan_word(scan, "false");
    case 'n':
        return scan_word(scan, "null");
    default:
        if (c == '-' || is_digit(c))
            return scan_number(scan);
        return fail(scan, "expected a value");
    }
}

bool rkb_json_scan(rkb_json_scan_t *scan)
{
    if (!scan_value(scan, 0))
        return false;
    skip_blanks(scan);
    if (scan->at < scan->len)
        return fail(scan, "unexpected text after the value");
    return true;
}

void rkb_json_locate(const char *text, size_t offset, size_t *line, size_t *column)
{
    *line = 1;
    *column = 1;
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            ++*line;
            *column = 1;
        } else {
            ++*column;
        }
    }
}
