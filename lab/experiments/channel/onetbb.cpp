#include <lab/experiments/channel/threads.hpp>
#include <lab/peers/row.hpp>

#include <tbb/concurrent_queue.h>

namespace lab::channel {
namespace {

class queue_of_onetbb {
public:
    static constexpr peers::row row{"onetbb", "oneTBB", 30, false};

    explicit queue_of_onetbb(const setting& s) : setting_(s) {}

    usage pass(cell& c, std::vector<sink>& sinks) {
        using queue = tbb::concurrent_bounded_queue<std::uint64_t>;
        queue between;
        if (setting_.capacity != unbounded)
            between.set_capacity(static_cast<queue::size_type>(setting_.capacity));
        return pass_in_threads(
            c, setting_, sinks, [&] { return [&](std::uint64_t item) { between.push(item); }; },
            [&] {
                return [&] {
                    std::uint64_t item = 0;
                    between.pop(item);
                    return item;
                };
            });
    }

private:
    setting setting_;
};

const bool added =
    peers::add_row<queue_of_onetbb>("channel", &run<queue_of_onetbb>, "concurrent_bounded_queue");

} // namespace
} // namespace lab::channel
