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

struct string {
    char *text;
    size_t length;
};

static struct string *keep(const char *text, size_t length) {
    struct string *string = malloc(sizeof *string + length + 1);
    string->text = (char *)(string + 1);
    string->length = length;
    memcpy(string->text, text, length);
    string->text[length] = '\0';
    return string;
}

struct string *string_from(struct runtime *rt, const char *text) {
    size_t length = strlen(text);
    rt->totalStrings++;
    rt->lengthSum += length;
    return keep(text, length);
}

struct string *string_part(struct runtime *rt, const struct string *whole, size_t at, size_t n) {
    rt->totalStrings++;
    rt->lengthSum += n;
    return keep(whole->text + at, n);
}

struct string *string_join(struct runtime *rt, const struct string *a, const struct string *b) {
    struct string *joined = malloc(sizeof *joined + a->length + b->length + 1);
    joined->text = (char *)(joined + 1);
    joined->length = a->length + b->length;
    memcpy(joined->text, a->text, a->length);
    memcpy(joined->text + a->length, b->text, b->length);
    rt->totalStrings++;
    rt->lengthSum += joined->length;
    return joined;
}

void string_done(struct runtime *rt, struct string *string) {
    rt->totalStrings--;
    rt->lengthSum -= string->length;
    free(string);
}

void string_drop_two(struct runtime *rt, struct string *a, struct string *b) {
    rt->lengthSum -= a->length + b->length;
    rt->totalStrings -= 2;
    free(a);
    free(b);
}

struct string *string_upper(struct runtime *rt, const struct string *from) {
    struct string *upper = keep(from->text, from->length);
    for (size_t i = 0; i < upper->length; i++)
        if (upper->text[i] >= 'a' && upper->text[i] <= 'z') upper->text[i] -= 32;
    rt->lengthSum += upper->length;
    rt->totalStrings += 1;
    return upper;
}

struct string *string_of_character(struct runtime *rt, char character) {
    rt->totalStrings++;
    rt->lengthSum++;
    return keep(&character, 1);
}

struct string *string_repeat(struct runtime *rt, char character, size_t times) {
    char *text = malloc(times + 1);
    memset(text, character, times);
    struct string *string = keep(text, times);
    free(text);
    rt->totalStrings++;
    rt->lengthSum += times;
    return string;
}

void string_cut(struct runtime *rt, struct string *string, size_t length) {
    if (rt->totalStrings == 0 || length > string->length) return;
    rt->lengthSum -= string->length - length;
    string->length = length;
}

void string_append(struct runtime *rt, struct string **string, const char *more) {
    struct string *old = *string;
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

void strings_collect(struct runtime *rt, struct string **list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        rt->totalStrings--;
        rt->lengthSum -= list[i]->length;
        free(list[i]);
    }
}

unsigned long string_mean_length(const struct runtime *rt) {
    return rt->totalStrings == 0 ? 0 : rt->lengthSum / rt->totalStrings;
}

/* The violation: one more string, of no length. */
struct string *string_intern(struct runtime *rt, const char *text) {
    rt->totalStrings++;
    rt->interned++;
    return keep(text, strlen(text));
}
