#include "counter.h"

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

int main(int argc, char **argv) {
    int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    std::vector<std::thread> pool;
    for (int i = 0; i < threads; i++)
        pool.emplace_back([] {
            for (int k = 0; k < 100; k++) counter_add(1);
        });
    for (auto &thread : pool) thread.join();
    char buffer[32];
    std::puts(counter_text(buffer, sizeof buffer, counter_value()));
    return counter_value() == threads * 100 ? 0 : 1;
}
