/// A row: one measurement that runs on a real machine and on a computed one.
///
/// Part: computed (rows). The same source is compiled twice. The program `ekiden-rows` is linked with the
/// library and measures the real machine. The program `ekiden-computed` is linked with the timed build and
/// the engine.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/config.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ekiden::rows {

/// What a call of the program asks for.
struct setting {
    unsigned cores;   ///< also the number of workers
    double scale = 1; ///< multiplies the number of tasks
};

/// Returns the figure in ns.
using measure = double (*)(const setting&);

struct row {
    std::string name;   ///< for example "empty task, 1 producer"
    std::string system; ///< "ekiden", or what stands beside it
    measure run;
    double ideal_ns; ///< the work of one unit, or 0: with C cores, the ideal figure is ideal_ns / C
};

/// All rows of the program.
[[nodiscard]] std::vector<row>& all();
/// Adds a row. The result makes it possible to call the function in the initializer of a constant.
bool add(row made);

/// The calling thread works for `ns` nanoseconds.
void work(std::uint64_t ns) noexcept;
/// The calling thread sleeps.
void sleep_ns(std::uint64_t ns) noexcept;
/// Returns the processor time that the process has used, in ns.
[[nodiscard]] std::uint64_t process_cpu_ns() noexcept;
/// Binds the calling thread to a core, if the machine is real.
void bind(unsigned core);

/// Counts finished tasks. Each thread has a line of its own, so that the count is not what is measured.
class tally {
public:
    void hit() noexcept;
    /// Waits for `tasks` hits since the creation, and looks every 50 us.
    void wait(std::uint64_t tasks) noexcept;

private:
    static constexpr unsigned slots = 512;
    struct alignas(sys::isolation) slot {
        sys::atomic<std::uint64_t> count{0};
    };
    slot slots_[slots];
};

/// Calls body(0) to body(threads - 1), each in a thread of its own. They begin together, when all threads
/// run. Returns the time until the last one has ended, in ns.
template <class Body>
double together(unsigned threads, Body body) {
    sys::atomic<unsigned> ready{0};
    sys::atomic<std::uint32_t> go{0};
    std::vector<sys::thread> all;
    for (unsigned i = 0; i != threads; ++i)
        all.emplace_back([&, i] {
            ready.fetch_add(1, sys::acq_rel);
            while (go.load(sys::acquire) == 0) sys::futex_wait(go, 0);
            body(i);
        });
    while (ready.load(sys::acquire) != threads) sleep_ns(20'000);
    sleep_ns(200'000);
    const std::uint64_t begin = sys::now_ns();
    go.store(1, sys::release);
    (void)sys::futex_wake_all(go);
    for (sys::thread& one : all) one.join();
    return static_cast<double>(sys::now_ns() - begin);
}

} // namespace ekiden::rows
