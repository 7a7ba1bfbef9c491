#include <lab/experiments/request-order/methods.hpp>
#include <lab/peers/ekiden_locks.hpp>

#include <ekiden/sync/sequencer.hpp>

namespace lab::request_order {
namespace {

class sequencer_desk {
public:
    void ask(receipt& mine) {
        const auto [number, given] = *sequencer_.call(0);
        mine.numbered_ns = now_ns();
        mine.number = number;
        mine.given = given;
        mine.answered = true;
    }

    template <class Process>
    std::size_t serve(std::size_t count, Process process) {
        sequencer_.serve([&](std::uint64_t number, int) {
            if (number + 1 == count) sequencer_.close();
            return process(number);
        });
        return sequencer_.longest_queue();
    }

private:
    ekiden::sequencer<int, answer> sequencer_;
};

/// Numbers the requests as they are popped, which is the order in which they were pushed. The threads get no
/// replies.
class buffer_desk {
public:
    void ask(receipt& mine) {
        (void)requests_.push(&mine);
        mine.numbered_ns = now_ns();
    }

    template <class Process>
    std::size_t serve(std::size_t count, Process process) {
        for (std::uint64_t number = 0; number != count; ++number) {
            (*requests_.pop())->number = number;
            process(number);
        }
        return 0; // unknown
    }

private:
    ekiden::bounded_buffer<receipt*> requests_{32'768};
};

const bool added_fifo = add_method<by_lock<peers::ekiden_fifo_mutex, true>>(
    {"ekiden", "ekiden::fifo_mutex", 0}, "each thread does its own work");
const bool added_first = add_method<by_desk<sequencer_desk, consumer::first>>(
    {"ekiden-sequencer-first", "ekiden::sequencer first", 1}, "consumer first; replies to each", true,
    "replies");
const bool added_last = add_method<by_desk<sequencer_desk, consumer::last>>(
    {"ekiden-sequencer", "ekiden::sequencer", 2}, "consumed by the thread that starts the others", true,
    "replies");
const bool added_buffer = add_method<by_desk<buffer_desk, consumer::first>>(
    {"ekiden-buffer-first", "ekiden::bounded_buffer first", 3}, "consumer first; no replies", true, "queue");
const bool added_mutex = add_method<by_lock<peers::ekiden_mutex, true>>(
    {"ekiden-mutex", "ekiden::mutex", 4}, "promises no order", true, "unordered");
const bool added_q = add_method<by_lock<peers::ekiden_fifo_mutex, false>>(
    {"ekiden-q-fifo", "q_ ekiden::fifo_mutex", 29}, "takes numbers, processes nothing", false);

} // namespace
} // namespace lab::request_order
