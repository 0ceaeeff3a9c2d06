// What a statically linked C++ library does through the runtime: new and delete in all their forms,
// a static variable with a guard, exceptions, threads.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct alignas(128) Wide {
    char bytes[128];
};

static std::atomic<int> made{0};
struct Once {
    Once() { made++; }
};
static int guarded() {
    static Once once;
    return made;
}

static std::mutex mutex;
static int sum;

static void work(int n) {
    guarded();
    int *one = new int(n);
    Wide *wide = new Wide;
    char *many = new (std::nothrow) char[100];
    std::vector<std::string> list(10, std::string(50, 'x'));
    try {
        if (list.at(3)[0] == 'x') throw std::runtime_error("thrown");
    } catch (const std::exception &) {
        std::lock_guard<std::mutex> hold(mutex);
        sum += *one;
    }
    delete one;
    delete wide;
    delete[] many;
}

int main() {
    std::thread a(work, 1), b(work, 2);
    a.join();
    b.join();
    std::printf("%d %d\n", sum, guarded());
}
