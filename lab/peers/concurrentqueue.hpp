/// Peer: a pool on moodycamel's BlockingConcurrentQueue, with tokens on both sides, as its documentation
/// recommends. Tasks are small_task. A worker dequeues `Bulk` tasks at once. 1 shares long tasks best. More
/// is what the documentation recommends for throughput.
#pragma once

#include <lab/peers/promised_call.hpp>
#include <lab/peers/row.hpp>
#include <lab/peers/small_task.hpp>

#include <array>
#include <blockingconcurrentqueue.h>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace lab::peers {

template <std::size_t Bulk>
class concurrentqueue {
    using queue = moodycamel::BlockingConcurrentQueue<small_task>;

public:
    static constexpr peers::row row = Bulk == 1
                                          ? peers::row{"concurrentqueue", "moodycamel queue", 50}
                                          : peers::row{"concurrentqueue-bulk", "moodycamel queue, bulk", 51};

    explicit concurrentqueue(unsigned workers) {
        for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
    }

    ~concurrentqueue() {
        // An empty task ends one worker. That worker requeues the other tasks that it has dequeued.
        for (std::size_t i = 0; i < threads_.size(); ++i) queue_.enqueue(small_task());
        for (std::thread& t : threads_) t.join();
    }

    /// The access of one outside thread to the queue.
    class end {
    public:
        explicit end(queue& q) : queue_(q), token_(q) {}
        template <class F>
        void post(F f) {
            queue_.enqueue(token_, small_task(std::move(f)));
        }

    private:
        queue& queue_;
        moodycamel::ProducerToken token_;
    };

    end producer() { return end(queue_); }

    template <class F>
    void post(F f) {
        queue_.enqueue(small_task(std::move(f)));
    }

    template <class F>
    void spawn(F f) {
        queue_.enqueue(*own_token, small_task(std::move(f)));
    }

    template <class F>
    auto call(F f) {
        return promised_call([this](auto g) { post(std::move(g)); }, f);
    }

private:
    void work() {
        moodycamel::ProducerToken to(queue_);
        moodycamel::ConsumerToken from(queue_);
        own_token = &to;
        std::array<small_task, Bulk> taken;
        for (std::size_t ends = 0; ends == 0;) {
            const std::size_t count = queue_.wait_dequeue_bulk(from, taken.begin(), Bulk);
            for (std::size_t i = 0; i < count; ++i) {
                if (taken[i])
                    taken[i]();
                else if (++ends > 1)
                    queue_.enqueue(small_task());
                taken[i] = small_task();
            }
        }
        own_token = nullptr;
    }

    static inline thread_local moodycamel::ProducerToken* own_token = nullptr;

    queue queue_;
    std::vector<std::thread> threads_;
};

} // namespace lab::peers
