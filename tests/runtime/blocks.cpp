// Blocks of memory: each kind of allocation is a block with its size and place, ends with its release, and
// is another one when its memory comes back. Every line marked "EXPECT" says what it must record.
// clang-format off
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

static int failures;
#define CHECK(c) ((c) ? (void)0 : (void)(std::printf("line %d: wrong\n", __LINE__), failures++))

struct alignas(64) wide {
    char bytes[128];
};
static char *volatile kept; // a block that escapes is not optimised away
static void *volatile mapped;
static volatile std::size_t huge = std::size_t(1) << 62;

static void heap() {
    kept = static_cast<char *>(std::malloc(24));                 // EXPECT alloc:heap:24
    *kept = 1;                                                   // EXPECT w:a
    std::free(kept);                                             // EXPECT free:a
    kept = static_cast<char *>(std::malloc(24));                 // EXPECT alloc:heap:24
    *kept = 2;                                                   // EXPECT w:b
    std::free(kept);                                             // EXPECT free:b
    kept = static_cast<char *>(std::calloc(5, 9));               // EXPECT alloc:heap:45
    CHECK(kept[44] == 0);
    char *old = kept;
    kept = static_cast<char *>(std::realloc(kept, 200000));      // EXPECT free:c alloc:heap:200000
    CHECK(kept != old);
    kept[199999] = 3;                                            // EXPECT w:d
    kept = static_cast<char *>(std::realloc(kept, 100));         // EXPECT r:d || free:d alloc:heap:100
    CHECK(std::realloc(kept, huge) == nullptr && errno == ENOMEM); // EXPECT || free:e alloc:heap:*
    std::free(kept);                                             // EXPECT free:d || free:f
    kept = static_cast<char *>(reallocarray(nullptr, 7, 8));     // EXPECT alloc:heap:56
    kept = static_cast<char *>(std::realloc(kept, 0));           // EXPECT free:g
    CHECK(kept == nullptr);
    kept = static_cast<char *>(aligned_alloc(256, 512));         // EXPECT alloc:heap:512
    CHECK(reinterpret_cast<std::uintptr_t>(kept) % 256 == 0);
    std::free(kept);                                             // EXPECT free:h
    void *place = nullptr;
    CHECK(posix_memalign(&place, 64, 65) == 0);                  // EXPECT alloc:heap:65
    kept = static_cast<char *>(place);
    std::free(kept);                                             // EXPECT free:i
    CHECK(posix_memalign(&place, 3, 65) == EINVAL);              // EXPECT
    kept = static_cast<char *>(memalign(128, 30));               // EXPECT alloc:heap:30
    std::free(kept);                                             // EXPECT free:j
    kept = static_cast<char *>(valloc(10));                      // EXPECT alloc:heap:10
    CHECK(reinterpret_cast<std::uintptr_t>(kept) % 4096 == 0);
    std::free(kept);                                             // EXPECT free:k
    CHECK(std::malloc(huge) == nullptr && errno == ENOMEM);      // EXPECT
    CHECK(std::calloc(huge, 16) == nullptr);                     // EXPECT
    std::free(nullptr);                                          // EXPECT
    kept = strdup("seven");
    CHECK(malloc_usable_size(kept) >= 6);
    std::free(kept);                                             // EXPECT free:l
}

static void operators() {
    char *volatile p;
    p = static_cast<char *>(::operator new(17));                 // EXPECT alloc:heap:17
    ::operator delete(p);                                        // EXPECT free:m
    p = static_cast<char *>(::operator new[](18));               // EXPECT alloc:heap:18
    ::operator delete[](p);                                      // EXPECT free:n
    p = static_cast<char *>(::operator new(19, std::nothrow));   // EXPECT alloc:heap:19
    ::operator delete(p, std::nothrow);                          // EXPECT free:o
    p = reinterpret_cast<char *>(new wide);                      // EXPECT alloc:heap:128
    CHECK(reinterpret_cast<std::uintptr_t>(p) % 64 == 0);
    delete reinterpret_cast<wide *>(p);                          // EXPECT free:p
    p = new char[33];                                            // EXPECT alloc:heap:33
    delete[] p;                                                  // EXPECT free:q
    CHECK(::operator new(huge, std::nothrow) == nullptr);        // EXPECT
}

static void mappings() {
    long page = sysconf(_SC_PAGESIZE);
    mapped = mmap(nullptr, 3 * page - 5, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); // EXPECT alloc:map:12288
    *static_cast<char *>(mapped) = 1;                            // EXPECT w:r
    mapped = mremap(mapped, 3 * page, 300 * page, MREMAP_MAYMOVE); // EXPECT free:r alloc:map:1228800
    static_cast<char *>(mapped)[299 * page] = 1;                 // EXPECT w:s
    CHECK(*static_cast<char *>(mapped) == 1);                    // EXPECT r:s
    CHECK(munmap(mapped, 300 * page) == 0);                      // EXPECT free:s
    CHECK(mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED); // EXPECT
    mapped = mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); // EXPECT alloc:map:16384
    void *same = mapped;
    mapped = mmap(same, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); // EXPECT alloc:map:16384
    CHECK(same == mapped);
    *static_cast<char *>(mapped) = 4;                            // EXPECT w:u
    CHECK(munmap(mapped, 4 * page) == 0);                        // EXPECT free:u
}

int main(int argc, char **) {
    if (argc > 1) { // a use after free belongs to the block that was freed
        kept = static_cast<char *>(std::malloc(40));
        std::free(kept);
        kept[3] = 5; // USE AFTER FREE
        char *other = static_cast<char *>(std::malloc(40));
        CHECK(other == kept);
        kept[3] = 6; // USE OF THE NEXT
        std::puts("done");
        return 0;
    }
    heap();
    operators();
    mappings();
    if (failures == 0) std::puts("done");
    return failures;
}
