#include <lab/experiments/async-growth/async_growth.hpp>
#include <lab/peers/std_async.hpp>

#include <future>
#include <vector>

namespace lab::async_growth {
namespace {

class rounds_of_std_async {
public:
    static constexpr peers::row row = peers::std_async::row;
    static constexpr bool is_slow = false;

    explicit rounds_of_std_async(unsigned) {}

    template <class F>
    void run(std::size_t count, F body) {
        std::vector<std::future<void>> all;
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(std::async(std::launch::async, [&body, i] {
                body(i, [](std::chrono::milliseconds length) { std::this_thread::sleep_for(length); });
            }));
        }
        for (auto& f : all) f.get();
    }
};

const bool added = peers::add_row<rounds_of_std_async>("async-growth", &run<rounds_of_std_async>);

} // namespace
} // namespace lab::async_growth
