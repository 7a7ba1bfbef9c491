/// Handles the records of a queue in PostgreSQL, in the order of each key.
///
/// Part: postgres. Used by: programs.
#pragma once

#include <ekiden/async/sync_wait.hpp>
#include <ekiden/postgres/reply.hpp>
#include <ekiden/postgres/settings.hpp>
#include <ekiden/records/retry_options.hpp>
#include <ekiden/records/worker_metrics.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::postgres {

/// The options of a worker.
struct worker_options {
    std::string queue; ///< The name of the queue. Required.
    /// The number of connections, each with a thread. As many functions can run at once. 1 to 500.
    unsigned connections = 8;
    /// The maximum number of records of one transaction. 1 to 10,000. With 1, each record has a transaction
    /// of its own.
    unsigned records_per_commit = 100;
    /// The maximum number of keys of one transaction. 1 to 1,000. With 1, no key waits for another key. A
    /// larger number saves commits if keys have few records each. But a slow function then delays the other
    /// keys of its transaction.
    unsigned keys_per_commit = 1;
    /// A transaction begins no further record after this time. So slow functions have short transactions. 0
    /// ms to 24 h.
    std::chrono::milliseconds commit_after{5};
    /// The longest time until an idle worker finds a new record. 1 ms to 1 min. It takes longer if some
    /// hundred keys or more wait for a retry.
    std::chrono::milliseconds poll_every{20};
    /// If a function does not use its connection for this time, the server ends the transaction, and the
    /// record runs again. So a process that was stopped does not keep its keys forever. 1 s to 24 h.
    std::chrono::milliseconds transaction_limit{60'000};
    records::retry_options retry = {}; ///< what happens after a function has thrown
};

/// Calls a function for each record of a queue.
///
/// The records of a key run in order, one at a time, whatever the number of workers and processes. Different
/// keys run in parallel. The effects of the function on reply::connection(), the end of the record, and the
/// records that the function sends are one transaction. So these effects happen exactly once. Other effects,
/// such as a message to a user, can happen more than once, because the function runs again after a rollback.
///
/// A transaction can have several records of a key, and of several keys if `keys_per_commit` allows it. If a
/// function throws, the transaction is rolled back, and the other records of the transaction run again.
///
/// If the function returns a coroutine, a thread of the worker waits for its end with sync_wait(). The
/// coroutine runs in the default pool. Its transaction needs the connection anyway.
///
/// Thread safety: all members may be called concurrently, except the destructor. The function is called by
/// several threads at once. In the child of a fork(), the only allowed call is the destructor, which then
/// does nothing.
class worker {
public:
    /// Constructs a worker for the function `f(const records::request&, postgres::reply&)`. Throws
    /// std::invalid_argument if a setting or an option is not allowed. Does not connect.
    template <class F>
        requires std::invocable<F&, const records::request&, reply&>
    worker(const settings& where, const worker_options& chosen, F&& f)
        : worker(where, chosen, erase(std::forward<F>(f)), 0) {}
    /// Calls close() without a limit.
    ~worker();
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    /// Creates missing tables, and handles records until a stop is requested or close() is called. The
    /// records that run then are finished. Throws error if the server cannot be reached at first, or for an
    /// error that a retry cannot mend. A connection that is lost later is opened again. Throws
    /// std::system_error if the system refuses a thread, and std::logic_error if run() was called before.
    void run(std::stop_token stop = {});

    /// Begins no more records, and waits until run() has returned. Returns false at the limit. Then
    /// request::given_up is requested, and records that still run are rolled back when they end.
    [[nodiscard]] bool close(const wait_limit& limit);
    [[nodiscard]] bool close(const wait_duration& limit) {
        return close(static_cast<const wait_limit&>(limit));
    }

    /// Returns the counters of this worker, and the progress of the queue for all its workers together, as
    /// one partition. Asks the server about the queue, over a connection of its own. If the server cannot be
    /// asked, the metrics have no partition. In a queue with more than 100,000 records, the lag is 100,000,
    /// and the oldest record is the oldest one of some 100,000 records. Throws std::bad_alloc.
    [[nodiscard]] records::worker_metrics metrics() const;

private:
    using handler = std::function<void(const records::request&, reply&)>;
    class core;

    template <class F>
    static handler erase(F&& f) {
        using result = std::invoke_result_t<F&, const records::request&, reply&>;
        // The function can be a type that cannot be copied.
        auto kept = std::make_shared<std::decay_t<F>>(std::forward<F>(f));
        return [kept](const records::request& of, reply& to) {
            if constexpr (std::is_void_v<result>)
                (*kept)(of, to);
            else
                (void)ekiden::sync_wait([&]() -> result { return (*kept)(of, to); });
        };
    }
    worker(const settings& where, const worker_options& chosen, handler f, int);

    std::unique_ptr<core> core_;
};

} // namespace ekiden::inline EKIDEN_ABI::postgres
