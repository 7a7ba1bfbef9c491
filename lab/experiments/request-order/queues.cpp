#include <lab/experiments/request-order/methods.hpp>

#include <condition_variable>
#include <future>
#include <mutex>

namespace lab::request_order {
namespace {

/// The source's queue: a mutex and a condition variable. With `Replies`, each number has a promise, so that
/// the thread gets its answer. The source's threads get none.
template <bool Replies>
class condition_desk {
public:
    void ask(receipt& mine) {
        std::promise<answer>* reply = nullptr;
        std::promise<answer> promised;
        std::future<answer> given;
        if constexpr (Replies) {
            given = promised.get_future();
            reply = &promised;
        }
        {
            const std::lock_guard lock(mutex_);
            mine.number = count_++;
            waiting_.push({mine.number, reply});
            arrived_.notify_one();
        }
        mine.numbered_ns = now_ns();
        if constexpr (Replies) {
            mine.given = given.get();
            mine.answered = true;
        }
    }

    template <class Process>
    std::size_t serve(std::size_t count, Process process) {
        std::size_t most = 0;
        while (count-- > 0) {
            std::unique_lock lock(mutex_);
            arrived_.wait(lock, [&] { return !waiting_.empty(); });
            most = std::max(most, waiting_.size());
            const auto [number, reply] = waiting_.front();
            waiting_.pop();
            lock.unlock();
            const answer given = process(number);
            if constexpr (Replies) {
                // The promise is destroyed when the asking thread has its answer. This copy of its state
                // outlives the call.
                std::promise<answer> promised = std::move(*reply);
                promised.set_value(given);
            }
        }
        return most;
    }

private:
    struct entry {
        std::uint64_t number;
        std::promise<answer>* reply;
    };
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::queue<entry> waiting_;
    std::uint64_t count_ = 0;
};

/// No threads: pushes all requests into a queue, then pops them.
struct main_thread {
    static constexpr bool keeps_order = true;
    static constexpr bool processes = true;
    static constexpr bool has_threads = false;

    static sizes serve(service& s, crowd& all) {
        std::queue<std::uint64_t> waiting;
        for (std::uint64_t i = 0; i < all.size(); ++i) waiting.push(i);
        const std::size_t most = waiting.size();
        for (; !waiting.empty(); waiting.pop()) s.process(waiting.front());
        return {.queue = most};
    }
};

const bool added_queue = add_method<by_desk<condition_desk<false>, consumer::last>>(
    {"queue", "queue", 11}, "consumed by the thread that starts the others; no replies", true, "queue");
const bool added_new = add_method<by_desk<condition_desk<false>, consumer::first>>(
    {"queue_new", "queue_new", 12}, "consumer first; no replies", true, "queue");
const bool added_replying = add_method<by_desk<condition_desk<true>, consumer::first>>(
    {"queue_new_reply", "queue_new with replies", 13}, "consumer first; a promise for each", true, "replies");
const bool added_main = add_method<main_thread>({"mainthread", "mainthread", 14}, "no threads", false);
const bool added_q = add_method<by_desk<condition_desk<false>, consumer::none>>(
    {"q_queue", "q_queue", 31}, "takes numbers, processes nothing", false);

} // namespace
} // namespace lab::request_order
