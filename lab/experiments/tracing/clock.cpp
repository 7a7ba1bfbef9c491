#include <lab/experiments/tracing/tracing.hpp>
#include <lab/harness/registry.hpp>

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace lab::tracing {
namespace {

std::uint64_t counter() {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}
std::uint64_t steady() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// Reads a clock where the other systems record an event.
template <std::uint64_t (*Now)()>
class reading {
public:
    explicit reading(const cell&) {}
    static void begin() {}
    static void end() {}
    void moments(std::size_t n) {
        for (std::size_t i = 0; i != n; ++i) last_ = Now();
    }
    void intervals(std::size_t n) {
        for (std::size_t i = 0; i != n; ++i) {
            last_ = Now();
            last_ = Now();
        }
    }
    void verify(const cell& c) const {
        if (last_ == 0) c.fail("the clock stands still");
    }

private:
    volatile std::uint64_t last_ = 0;
};

const bool added_counter = add(implementation{.experiment = "tracing",
                                              .name = "counter",
                                              .title = "reading the counter",
                                              .note = "rdtsc; on other processors the steady clock",
                                              .run = &run<reading<&counter>>,
                                              .order = 50,
                                              .ranked = false});
const bool added_clock = add(implementation{.experiment = "tracing",
                                            .name = "clock",
                                            .title = "reading the clock",
                                            .note = "std::chrono::steady_clock",
                                            .run = &run<reading<&steady>>,
                                            .order = 51,
                                            .ranked = false});

} // namespace
} // namespace lab::tracing
