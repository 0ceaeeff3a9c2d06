#!/bin/bash
# Every header compiles by itself, with gcc and clang, and twice in a row (its guard works).
# timeout: 300
cd "${SOURCE:?}" || exit 2
flags="-std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror -Isrc -Iinclude"
flags="$flags $(pkg-config --cflags libdw libelf libzstd libxxhash jansson)"
status=0
headers=$(find src include -name '*.h' 2>/dev/null | sort)
[ -n "$headers" ] || { echo "no headers found"; exit 1; }
for compiler in gcc clang; do
    for header in $headers; do
        name=${header#src/} name=${name#include/}
        printf '#include "%s"\n#include "%s"\nint unused_translation_unit;\n' "$name" "$name" |
            $compiler $flags -fsyntax-only -x c - || { echo "$header does not compile alone ($compiler)"; status=1; }
    done
done
# What a user puts into a C++ program must be C++ too.
for header in $(find include -name '*.h' 2>/dev/null | sort); do
    printf '#include "%s"\n' "${header#include/}" |
        g++ -std=c++11 -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ - || { echo "$header is no C++"; status=1; }
done
exit $status
