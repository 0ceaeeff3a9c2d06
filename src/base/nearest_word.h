/* Which word was meant: for "did you mean ...?" in error lines. */
#ifndef HEDDLE_BASE_NEAREST_WORD_H
#define HEDDLE_BASE_NEAREST_WORD_H

/* The word among `count` candidates that was most likely meant, or NULL if none is near. */
const char *hd_nearest_word(const char *word, const char *const *candidate, unsigned count);

#endif
