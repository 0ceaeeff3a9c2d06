#!/bin/bash
# Every C file has the form that .clang-format gives it. Versions of clang-format differ, so only the
# one the tree was formatted with may judge.
cd "${SOURCE:?}" || exit 2
version=$(clang-format --version | grep -o 'version [0-9]*' | grep -o '[0-9]*')
if [ "$version" != 14 ]; then
    echo "clang-format $version, not 14"
    exit 77
fi
find src include tests bench -path bench/out -prune -o -name '*.[ch]' -print0 2>/dev/null | xargs -0 clang-format --dry-run -Werror 2>&1 | grep 'error:' | cut -d: -f1 | sort | uniq -c |
    while read -r count file; do echo "$file: $count places differ; clang-format -i $file"; echo; done | grep . && exit 1
exit 0
