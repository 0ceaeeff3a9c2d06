// Small uses of C++20, each a program of its own by its number. Those below 100 are right; what the
// others do wrong stands in uses_cxx.test.
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <queue>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>
using namespace std;
static int x, y;
static mutex m, m2;
static shared_mutex sm;
struct Counted { int n = 0; ~Counted() { n = -1; } };
static Counted &single() { static Counted c; return c; }
static thread_local string own = "a";
struct Base { virtual ~Base() {} virtual int f() { return 1; } };
struct Derived : Base { int f() override { return 2; } };
int main(int argc, char **argv) {
    switch (argc > 1 ? atoi(argv[1]) : 0) {
    case 1: { latch l(2); jthread a([&] { x = 1; l.count_down(); }), b([&] { y = 1; l.count_down(); }); l.wait(); if (x + y != 2) abort(); } break;
    case 2: { barrier b(2, []() noexcept { y++; }); auto f = [&] { for (int i = 0; i < 3; i++) { b.arrive_and_wait(); if (y < i) abort(); } }; jthread p(f), q(f); } if (y != 3) abort(); break;
    case 3: { jthread a([](stop_token s) { while (!s.stop_requested()) this_thread::yield(); x++; }); a.request_stop(); a.join(); x++; } break;
    case 4: { counting_semaphore<4> s(0); jthread a([&] { x = 1; s.release(); }); s.acquire(); x++; } break;
    case 5: { binary_semaphore s(1); auto f = [&] { s.acquire(); x++; s.release(); }; jthread a(f), b(f); } break;
    case 6: { atomic<int> w(0); jthread a([&] { x = 1; w.store(1); w.notify_one(); }); w.wait(0); x++; } break;
    case 7: { jthread a([] { shared_lock l(sm); y += 0 * x; }), b([] { unique_lock l(sm); x++; }); } break;
    case 8: { auto f = [] { scoped_lock l(m, m2); x++; }; auto g = [] { scoped_lock l(m2, m); x++; }; jthread a(f), b(g); } break;
    case 9: { promise<int> p; auto f = p.get_future(); jthread a([&] { x = 1; p.set_value(2); }); x += f.get(); } break;
    case 10: { auto f = async(launch::async, [] { x = 1; return 1; }); f.get(); x++; } break;
    case 11: { packaged_task<int()> t([] { x = 1; return 3; }); auto f = t.get_future(); jthread a(move(t)); f.wait(); x++; } break;
    case 12: { once_flag o; auto f = [&] { call_once(o, [] { x = 1; }); if (x != 1) abort(); }; jthread a(f), b(f); } break;
    case 13: { condition_variable_any c; bool go = false; jthread a([&] { unique_lock l(m); c.wait(l, [&] { return go; }); x++; }); { lock_guard l(m); go = true; x = 1; } c.notify_all(); } break;
    case 14: { exception_ptr e; { jthread a([&] { try { throw runtime_error("t"); } catch (...) { e = current_exception(); } }); } try { rethrow_exception(e); } catch (runtime_error &r) { if (string(r.what()) != "t") abort(); } } break;
    case 15: { auto f = [] { own += "b"; if (own != "ab") abort(); }; jthread a(f), b(f); } break;
    case 16: { auto f = [] { single(); }; jthread a(f), b(f); } single().n++; break;
    case 17: { auto p = make_shared<int>(3); jthread a([q = p] { x += 0 * *q; }), b([q = p] { y += *q; }); p.reset(); } break;
    case 18: { atomic<shared_ptr<int>> p(make_shared<int>(1)); jthread a([&] { p.store(make_shared<int>(2)); }), b([&] { auto q = p.load(); if (*q < 1) abort(); }); } break;
    case 19: { recursive_mutex r; auto f = [&] { lock_guard a(r); lock_guard b(r); x++; }; jthread a(f), b(f); } break;
    case 20: { timed_mutex t; auto f = [&] { while (!t.try_lock_for(1s)); x++; t.unlock(); }; jthread a(f), b(f); } break;
    case 21: { queue<unique_ptr<int>> q; condition_variable c; jthread a([&] { for (int i = 0; i < 5; i++) { lock_guard l(m); q.push(make_unique<int>(i)); c.notify_one(); } }); jthread b([&] { for (int i = 0; i < 5; i++) { unique_lock l(m); c.wait(l, [&] { return !q.empty(); }); x += *q.front(); q.pop(); } }); } break;
    case 22: { vector<jthread> v; atomic<int> n = 0; for (int i = 0; i < 20; i++) v.emplace_back([&] { n++; }); v.clear(); if (n != 20) abort(); } break;
    case 23: { auto *o = new Derived; jthread a([o] { x = o->f(); }); a.join(); delete o; } break;
    case 24: { stop_source s; jthread a([t = s.get_token()] { stop_callback c(t, [] { x = 1; }); while (!t.stop_requested()) this_thread::yield(); }); s.request_stop(); a.join(); x++; } break;
    case 25: { atomic_flag f; auto g = [&] { while (f.test_and_set(memory_order_acquire)) f.wait(true); x++; f.clear(memory_order_release); f.notify_one(); }; jthread a(g), b(g); } break;
    case 101: { jthread a([] { x++; }), b([] { x++; }); } break;
    case 102: { latch l(1); jthread a([&] { l.count_down(); x = 1; }); l.wait(); y = x; } break;
    case 103: { string s = "a"; jthread a([&] { s += "a string that is longer than before"; }), b([&] { y = (int)s.size(); }); } break;
    case 104: { vector<int> v; auto f = [&] { v.push_back(1); }; jthread a(f), b(f); } break;
    case 105: { auto p = make_shared<int>(1); jthread a([&] { p = make_shared<int>(2); }), b([&] { auto q = p; if (q) y = *q; }); } break;
    case 106: { auto *o = new Derived; jthread a([o] { x = o->f(); }); this_thread::sleep_for(1ms); delete o; } break;
    case 107: { promise<int> p; auto f = p.get_future(); jthread a([&] { p.set_value(2); x = 1; }); f.get(); y = x; } break;
    default: return 2;
    }
    return 0;
}
