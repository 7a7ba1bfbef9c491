#include <lab/experiments/channel/threads.hpp>
#include <lab/peers/row.hpp>

#include <blockingconcurrentqueue.h>

namespace lab::channel {
namespace {

class moodycamel_queue {
public:
    static constexpr peers::row row{"concurrentqueue", "moodycamel queue", 50, false};

    explicit moodycamel_queue(const setting& s) : setting_(s) {}

    usage pass(cell& c, std::vector<sink>& sinks) {
        moodycamel::BlockingConcurrentQueue<std::uint64_t> between;
        return pass_in_threads(
            c, setting_, sinks,
            [&] {
                return [&between, token = moodycamel::ProducerToken(between)](std::uint64_t item) {
                    between.enqueue(token, item);
                };
            },
            [&] {
                return [&between, token = moodycamel::ConsumerToken(between)]() mutable {
                    std::uint64_t item = 0;
                    between.wait_dequeue(token, item);
                    return item;
                };
            });
    }

private:
    setting setting_;
};

const bool added =
    peers::add_row<moodycamel_queue>("channel", &run<moodycamel_queue>, "BlockingConcurrentQueue, tokens");

} // namespace
} // namespace lab::channel
