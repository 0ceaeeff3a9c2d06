// std::thread, std::mutex and std::condition_variable: the consumer's predicate reads `closed`
// under the lock, but the producer sets it without, so the last notification can be missed.
// Repaired by setting it inside the critical section.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

namespace {

struct Channel {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<int> items;
    bool closed = false;
};

Channel channel;
std::atomic<int> sum{0};

void produce() {
    for (int item = 1; item <= 3; item++) {
        std::lock_guard<std::mutex> guard(channel.mutex);
        channel.items.push_back(item);
        channel.changed.notify_one();
    }
#ifdef FIXED
    std::lock_guard<std::mutex> guard(channel.mutex);
#endif
    channel.closed = true;
    channel.changed.notify_one();
}

void consume() {
    for (;;) {
        std::unique_lock<std::mutex> guard(channel.mutex);
        channel.changed.wait(guard, [] { return !channel.items.empty() || channel.closed; });
        if (channel.items.empty()) return;
        sum += channel.items.front();
        channel.items.pop_front();
    }
}

} // namespace

int main() {
    std::thread consumer(consume);
    std::thread producer(produce);
    producer.join();
    consumer.join();
    std::printf("sum %d\n", sum.load());
    return sum == 6 ? 0 : 1;
}
