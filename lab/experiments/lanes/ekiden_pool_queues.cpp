// What users build without lanes, on the fastest available pool, which is ekiden's.
#include <lab/experiments/lanes/lanes.hpp>
#include <lab/peers/row.hpp>
#include <lab/peers/small_task.hpp>

#include <ekiden/pool/thread_pool.hpp>
#include <mutex>

namespace lab::lanes {
namespace {

/// A queue with a mutex for each key, or for each of `Stripes` groups of keys. A task of the pool drains a
/// queue in batches, one batch at a time, so that the other queues get their turns.
template <std::size_t Stripes>
class own_queues {
public:
    static constexpr peers::row row = Stripes == 0
                                          ? peers::row{"mutex-per-key", "queue and mutex per key", 60}
                                          : peers::row{"striped-mutex", "193 queues and mutexes", 61};
    static constexpr bool keeps_order = true;

    own_queues(unsigned workers, std::size_t keys)
        : queues_(Stripes == 0 ? keys : Stripes), pool_({.threads = workers}) {}

    template <class F>
    void post(std::uint64_t key, F f) {
        queue& to = queues_[key % queues_.size()];
        {
            const std::lock_guard lock(to.mutex);
            to.waiting.emplace_back(std::move(f));
            if (to.busy) return;
            to.busy = true;
        }
        pool_.post([this, &to] { run_batch(to); });
    }

private:
    struct queue {
        std::mutex mutex;
        std::vector<peers::small_task> waiting;
        bool busy = false; // a task of the pool is queued or running
    };

    void run_batch(queue& from) {
        std::vector<peers::small_task> batch;
        {
            const std::lock_guard lock(from.mutex);
            batch.swap(from.waiting);
        }
        for (peers::small_task& task : batch) task();
        batch.clear();
        {
            const std::lock_guard lock(from.mutex);
            if (from.waiting.empty()) {
                if (from.waiting.capacity() == 0)
                    from.waiting.swap(batch); // keeps the memory for the next ones
                from.busy = false;
                return;
            }
        }
        pool_.post_last([this, &from] { run_batch(from); }); // after the tasks of the other queues
    }

    std::vector<queue> queues_;
    ekiden::thread_pool pool_;
};

/// Each task locks the mutex of its key. Two tasks of a key have no guaranteed order.
class lock_in_task {
public:
    static constexpr peers::row row{"lock-in-task", "each task locks its key", 62};
    static constexpr bool keeps_order = false;

    lock_in_task(unsigned workers, std::size_t keys) : mutexes_(keys), pool_({.threads = workers}) {}

    template <class F>
    void post(std::uint64_t key, F f) {
        pool_.post_last([&mutex = mutexes_[key], f = std::move(f)] {
            const std::lock_guard lock(mutex);
            f();
        });
    }

private:
    std::vector<std::mutex> mutexes_;
    ekiden::thread_pool pool_;
};

const bool added =
    peers::add_row<own_queues<0>>("lanes", &run<own_queues<0>>, "on ekiden's pool", true, "handles");

const bool added_striped =
    peers::add_row<own_queues<193>>("lanes", &run<own_queues<193>>,
                                    "on ekiden's pool; keys that share a queue wait for "
                                    "each other",
                                    true, "stripes");

const bool added_locks = peers::add_row<lock_in_task>("lanes", &run<lock_in_task>,
                                                      "on ekiden's pool; does not keep the order", false);

} // namespace
} // namespace lab::lanes
