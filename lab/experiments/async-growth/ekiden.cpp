#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <lab/experiments/async-growth/async_growth.hpp>
#include <lab/peers/row.hpp>

namespace lab::async_growth {
namespace {

/// The tasks announce that they block.
struct announced {
    static constexpr peers::row row{"ekiden", "ekiden, elastic", 0};
    static constexpr bool is_slow = false;
    static constexpr unsigned most = tasks;
    static void pause(std::chrono::milliseconds length) {
        ekiden::block([length] { std::this_thread::sleep_for(length); });
    }
};

/// The tasks do not announce it. The pool's watch detects it.
struct found_out {
    static constexpr peers::row row{"ekiden-watch", "ekiden, elastic, plain calls", 1};
    static constexpr bool is_slow = false;
    static constexpr unsigned most = tasks;
    static void pause(std::chrono::milliseconds length) { std::this_thread::sleep_for(length); }
};

struct fixed {
    static constexpr peers::row row{"ekiden-fixed", "ekiden, fixed", 2};
    static constexpr bool is_slow = true;
    static constexpr unsigned most = 0;
    static void pause(std::chrono::milliseconds length) { std::this_thread::sleep_for(length); }
};

template <class Kind>
class rounds_of_pool {
public:
    static constexpr peers::row row = Kind::row;
    static constexpr bool is_slow = Kind::is_slow;

    explicit rounds_of_pool(unsigned workers)
        : pool_({.threads = workers, .max_threads = Kind::most, .keep_alive = keep_alive}) {}

    template <class F>
    void run(std::size_t count, F body) {
        for (std::size_t i = 0; i < count; ++i) pool_.post([&body, i] { body(i, &Kind::pause); });
        pool_.wait_idle();
    }

private:
    ekiden::thread_pool pool_;
};

const bool added =
    peers::add_row<rounds_of_pool<announced>>("async-growth", &run<rounds_of_pool<announced>>)
    && peers::add_row<rounds_of_pool<found_out>>("async-growth", &run<rounds_of_pool<found_out>>)
    && peers::add_row<rounds_of_pool<fixed>>("async-growth", &run<rounds_of_pool<fixed>>,
                                             "cannot grow: 32 tasks one after the other");

} // namespace
} // namespace lab::async_growth
