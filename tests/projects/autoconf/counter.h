/* A counter behind a lock. */
#ifndef COUNTER_H
#define COUNTER_H
#ifdef __cplusplus
extern "C" {
#endif
void counter_add(int amount);
long counter_value(void);
const char *counter_text(char *buffer, unsigned long size, long value);
#ifdef __cplusplus
}
#endif
#endif
