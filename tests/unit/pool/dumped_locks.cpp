// What a dump tells of locks where the library notes which thread holds which: dumped_locks
// owner|stranger|circle. Ends when the dump says it, in the middle of everything.
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/rw_mutex.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>

#include <unistd.h>

static_assert(ekiden::lock_checks);

namespace {

std::string dump_of(const ekiden::thread_pool& pool) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) std::abort();
    pool.dump(ends[1]);
    ::close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(n));
    ::close(ends[0]);
    return text;
}

/// However long the threads take until it is so; the test's time is limited.
template <class F>
[[noreturn]] void end_when_said(const ekiden::thread_pool& pool, std::string_view wanted, F&& is_right) {
    for (;;) {
        const std::string text = dump_of(pool);
        if (text.find(wanted) == std::string::npos) continue;
        std::fputs(text.c_str(), stdout);
        std::fflush(stdout);
        ::_exit(is_right(text) ? EXIT_SUCCESS : EXIT_FAILURE);
    }
}

} // namespace

int main(int count, char** words) {
    const std::string_view what = count == 2 ? words[1] : "";
    ekiden::mutex a;
    ekiden::mutex b;
    ekiden::rw_mutex<> c;
    std::latch both(2);
    ekiden::thread_pool pool({.threads = 2, .name = "p"});
    if (what == "owner") { // a reader has it, and a writer waits
        pool.post([&] {
            std::unique_lock other(b);
            const std::shared_lock mine(c);
            other.unlock(); // the later one stays its own
            both.arrive_and_wait();
            std::latch(1).wait();
        });
        pool.post([&] {
            both.arrive_and_wait();
            const std::lock_guard wanted(c);
        });
        end_when_said(pool, " holds it\n", [](std::string_view text) {
            const std::size_t waits = text.find(": blocked on ");
            const char waiting = text[waits - 1];
            return text.find(waiting == '0' ? ", p-1 holds it" : ", p-0 holds it", waits) != text.npos;
        });
    }
    if (what == "stranger") { // this thread
        a.lock();
        pool.post([&] { const std::lock_guard wanted(a); });
        end_when_said(pool, ": blocked on a mutex for ",
                      [](std::string_view text) { return text.find("holds it") == text.npos; });
    }
    if (what == "circle") {
        const auto take = [&both](ekiden::mutex& first, ekiden::mutex& second) {
            const std::lock_guard mine(first);
            both.arrive_and_wait();
            const std::lock_guard other(second);
        };
        pool.post([&] { take(a, b); });
        pool.post([&] { take(b, a); });
        end_when_said(
            pool,
            "  circle: p-0 waits for a mutex, which p-1 holds; p-1 waits for a mutex, which p-0 holds\n",
            [](std::string_view text) { return text.rfind("circle") == text.find("circle"); });
    }
    return EXIT_FAILURE;
}
