#include <lab/experiments/async-growth/async_growth.hpp>
#include <lab/peers/thread_per_task.hpp>

#include <vector>

namespace lab::async_growth {
namespace {

class rounds_of_threads {
public:
    static constexpr peers::row row = peers::thread_per_task::row;
    static constexpr bool is_slow = false;

    explicit rounds_of_threads(unsigned) {}

    template <class F>
    void run(std::size_t count, F body) {
        std::vector<std::thread> all;
        for (std::size_t i = 0; i < count; ++i) {
            all.emplace_back([&body, i] {
                body(i, [](std::chrono::milliseconds length) { std::this_thread::sleep_for(length); });
            });
        }
        for (auto& t : all) t.join();
    }
};

const bool added = peers::add_row<rounds_of_threads>("async-growth", &run<rounds_of_threads>);

} // namespace
} // namespace lab::async_growth
