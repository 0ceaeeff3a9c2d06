/* Statistics of a runtime's strings, after Mozilla's rt->totalStrings and rt->lengthSum: the mean
 * length is the one divided by the other, so both change together. string_intern forgets it. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct runtime {
    unsigned long totalStrings;
    unsigned long lengthSum;
    unsigned long interned;
};

static char *keep(const char *text, size_t length) {
    char *string = malloc(length + 1);
    memcpy(string, text, length);
    string[length] = '\0';
    return string;
}

char *string_from(struct runtime *rt, const char *text) {
    size_t length = strlen(text);
    rt->totalStrings++;
    rt->lengthSum += length;
    return keep(text, length);
}

char *string_part(struct runtime *rt, const char *whole, size_t at, size_t length) {
    rt->totalStrings++;
    rt->lengthSum += length;
    return keep(whole + at, length);
}

char *string_join(struct runtime *rt, const char *a, const char *b) {
    size_t length = strlen(a) + strlen(b);
    char *joined = malloc(length + 1);
    strcpy(joined, a);
    strcat(joined, b);
    rt->totalStrings++;
    rt->lengthSum += length;
    return joined;
}

void string_done(struct runtime *rt, char *string) {
    rt->totalStrings--;
    rt->lengthSum -= strlen(string);
    free(string);
}

void string_drop_two(struct runtime *rt, char *a, char *b) {
    rt->lengthSum -= strlen(a) + strlen(b);
    rt->totalStrings -= 2;
    free(a);
    free(b);
}

char *string_upper(struct runtime *rt, const char *from) {
    char *upper = keep(from, strlen(from));
    for (char *at = upper; *at != '\0'; at++)
        if (*at >= 'a' && *at <= 'z') *at -= 32;
    rt->lengthSum += strlen(upper);
    rt->totalStrings += 1;
    return upper;
}

char *string_of_character(struct runtime *rt, char character) {
    rt->totalStrings++;
    rt->lengthSum++;
    return keep(&character, 1);
}

char *string_repeat(struct runtime *rt, char character, size_t times) {
    char *string = malloc(times + 1);
    memset(string, character, times);
    string[times] = '\0';
    rt->totalStrings++;
    rt->lengthSum += times;
    return string;
}

/* Checks the one and changes the other: that is together as well. */
void string_cut(struct runtime *rt, char *string, size_t length) {
    if (rt->totalStrings == 0 || length > strlen(string)) return;
    rt->lengthSum -= strlen(string) - length;
    string[length] = '\0';
}

void string_append(struct runtime *rt, char **string, const char *more) {
    char *old = *string;
    size_t added = strlen(more);
    rt->totalStrings += old == NULL;
    rt->lengthSum += added;
    *string = keep(more, added);
    free(old);
}

void strings_merge(struct runtime *rt, unsigned long count, unsigned long length) {
    rt->totalStrings += count;
    rt->lengthSum += length;
}

void strings_collect(struct runtime *rt, char **list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        rt->totalStrings--;
        rt->lengthSum -= strlen(list[i]);
        free(list[i]);
    }
}

unsigned long string_mean_length(const struct runtime *rt) {
    return rt->totalStrings == 0 ? 0 : rt->lengthSum / rt->totalStrings;
}

/* The violation: one more string, of no length. */
char *string_intern(struct runtime *rt, const char *text) {
    rt->totalStrings++;
    rt->interned++;
    return keep(text, strlen(text));
}
