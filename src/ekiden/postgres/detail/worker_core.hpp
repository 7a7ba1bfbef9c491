/// The threads and transactions of a worker.
///
/// Part: postgres. Private.
#pragma once

#include <ekiden/postgres/detail/connection.hpp>
#include <ekiden/postgres/detail/key_source.hpp>
#include <ekiden/postgres/worker.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/fork.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::postgres {

class worker::core {
public:
    core(const settings& where, const worker_options& chosen, handler f);
    ~core() { (void)close({}); }

    void run(std::stop_token stop);
    [[nodiscard]] bool close(const wait_limit& limit);
    [[nodiscard]] records::worker_metrics metrics() const;
    [[nodiscard]] bool is_in_forked_child() const noexcept { return generation_ != sys::fork_generation(); }

private:
    /// The row of a key.
    struct lane {
        std::string key;
        std::optional<std::int64_t>
            failed;             // the record that has failed, which runs in a transaction of its own
        unsigned attempts = 0;  // of this record
        unsigned conflicts = 0; // of this record, which are no attempts
        bool is_parked = false;
    };
    /// A row of a record.
    struct record {
        std::string ctid, key;
        std::int64_t id = 0;
        std::optional<std::string> value;
        records::headers with;
    };
    /// Why a record runs again.
    enum class fault {
        of_record, // counts as an attempt
        conflict,  // with another transaction
        unknown    // The record gets a transaction of its own.
    };
    /// What one thread has.
    struct session {
        std::unique_ptr<detail::connection> server;
        std::chrono::milliseconds delay{0}; // before the next attempt to connect
    };
    /// What has happened to the records of a transaction.
    struct outcome {
        sys::clock::time_point begin;
        std::vector<record> read;
        std::vector<lane> lanes;
        std::size_t done = 0; // The first `done` records have run.
        std::vector<records::outgoing> sent;
        std::optional<std::string> reason; // why the record behind them has failed
        bool is_conflict = false;          // another transaction is the reason
    };

    void serve();
    void turn(session& mine);
    void connect(session& mine);
    void undo(session& mine);
    void recover(session& mine, const error& failure);
    std::vector<std::string> transact(session& mine, const std::vector<std::string>& keys);
    std::vector<lane> lock(session& mine, const std::vector<std::string>& keys);
    std::vector<record> read(session& mine, const std::vector<lane>& lanes, std::size_t each);
    void call(session& mine, outcome& now);
    [[nodiscard]] bool finish(session& mine, outcome& now);
    void remove(session& mine, const outcome& now);
    void move_parked(outcome& now);
    void note_failure(session& mine, const record& of, fault why, const std::string& reason);
    void bury(session& mine, const record& of, unsigned attempts, const std::string& reason);
    [[nodiscard]] records::outgoing dead_letter(const record& of, unsigned attempts,
                                                const std::string& reason) const;
    void end_by(std::exception_ptr failure);
    void count(std::uint64_t records::worker_metrics::* what, std::uint64_t by = 1);

    const settings where_;
    const worker_options chosen_;
    const std::uint16_t generation_ = sys::fork_generation(); // of the process that has made the worker
    const handler f_;
    detail::key_source keys_;
    event stopping_, ended_{true}; // a stop is requested; run() does not run
    std::stop_source given_up_;

    sys::atomic<std::size_t> running_{0}; // functions that run now

    mutable mutex mutex_; // protects the members below
    records::worker_metrics counted_;
    std::exception_ptr failure_;
    bool has_run_ = false, is_closed_ = false;

    mutable mutex asking_; // protects the connection of metrics()
    mutable std::unique_ptr<detail::connection> asks_;
};

} // namespace ekiden::inline EKIDEN_ABI::postgres
