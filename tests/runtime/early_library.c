/* A library whose code runs before anything else: a resolver that the dynamic loader calls while it
 * still relocates, and a constructor. Both use memory and string functions. */
#include <string.h>

int early_function(void);
extern int early_constructed;
int early_constructed;

static int good(void) { return 42; }
static int bad(void) { return 0; }

/* Not inlined: these are to be the functions that the dynamic loader finds. */
#define CALL(f) (*(__typeof__(&f) volatile[]){f})

static int works(void) {
    char one[40] = "resolver", other[40];
    CALL(memset)(other, 'x', sizeof other);
    CALL(memcpy)(other, one, CALL(strlen)(one) + 1);
    CALL(memmove)(other + 1, other, 9);
    return CALL(strcmp)(other, "rresolver") == 0 && CALL(memcmp)(one, "resolver", 9) == 0 &&
           CALL(strncmp)(one, "resolute", 5) == 0 && CALL(strchr)(one, 'v') == one + 5 &&
           CALL(strrchr)(one, 'e') == one + 6 && CALL(memchr)(one, 's', 9) == one + 2;
}

#ifdef RESOLVER
static int (*resolve(void))(void) { return works() ? good : bad; }
int early_function(void) __attribute__((ifunc("resolve")));
#else
int early_function(void) { return works() ? good() : bad(); }
#endif

__attribute__((constructor)) static void construct(void) { early_constructed = works(); }
