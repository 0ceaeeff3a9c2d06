/* Every kind of statement; a for whose parts have no role in libclang. */
extern int condition(int), next(int);
int limit, found;

int loops(int n) {
    for (int i = 0; i < n; i++) found = i;
    for (; n < limit;) n++;
    for (n = 0;;) {
        if (n > limit) break;
        n = next(n);
    }
    for (;; n++)
        if (condition(n)) goto out;
    while (1) {
        if (condition(n)) continue;
        if (n) return n;
        n--;
    }
    do {
        limit = n;
    } while (0);
    do n++;
    while (n < limit);
out:
    return found;
}

int choices(int n) {
    switch (n) {
    case 1:
        found = 1;
        break;
    case 2 ... 4:
        found = 2;
    case 5:
    default:
        limit++;
    }
    switch (limit)
    case 7:
        return 7;
    if (n)
        ;
    else if (limit)
        found--;
    return condition(n) ?: next(n);
}

int computed(int n) {
    static void *const table[] = {&&one, &&two};
    goto *table[n];
one:
    found = 1;
two:
    return ({
        int inner = found;
        inner + n;
    });
}

void gone(int n) {
    if (n) __builtin_unreachable();
    found = n;
}
