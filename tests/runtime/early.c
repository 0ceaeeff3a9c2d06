#include <assert.h>
#include <stdio.h>

int early_function(void);
extern int early_constructed;

int main(void) {
    assert(early_constructed && early_function() == 42);
    puts("done");
    return 0;
}
