/// Posts records to queues in PostgreSQL.
///
/// Part: postgres. Used by: programs.
#pragma once

#include <ekiden/future/future.hpp>
#include <ekiden/lanes/lanes_options.hpp>
#include <ekiden/postgres/settings.hpp>
#include <ekiden/records/record.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct pg_conn; // PGconn of libpq

namespace ekiden::inline EKIDEN_ABI::postgres {

/// The options of a poster.
struct poster_options {
    std::string queue;              ///< The name of the queue. Required.
    std::size_t capacity = 100'000; ///< The maximum number of records that are not committed. At least 1.
    /// The maximum bytes of these records. At least 1. A record that is larger is sent when it is alone.
    std::size_t capacity_bytes = 64U << 20;
    /// What post() and submit() do at a capacity: `reject` or `block`. The other values are refused. Blocked
    /// calls get room in the order of their arrival, so large records do not starve.
    when_full policy = when_full::reject;
    std::size_t records_per_commit =
        1000; ///< The maximum number of records of one transaction. 1 to 100,000.
};

/// Counters of a poster.
struct poster_metrics {
    std::uint64_t posted = 0;     ///< accepted records
    std::uint64_t committed = 0;  ///< records that are in the table
    std::uint64_t rejected = 0;   ///< records that post() or submit() has refused
    std::uint64_t failed = 0;     ///< records that the server has refused
    std::uint64_t commits = 0;    ///< transactions
    std::uint64_t reconnects = 0; ///< times that a connection was lost and opened again
    std::uint64_t in_doubt = 0;   ///< transactions whose end was unknown, and which the poster then found out
};

/// Posts records to a queue. A thread of the poster writes all waiting records in one transaction.
///
/// Records of one poster with the same key keep their order, also after a lost connection. If a connection is
/// lost during COMMIT, the poster reads from the server whether the transaction has ended. The poster posts
/// the records again only if the transaction has not ended. So each record is in the table once.
///
/// The server can refuse a record, for example because its key is too long for an index. Incompressible keys
/// of more than about 2,600 bytes are too long. A record may have at most 500,000,000 bytes. If a record is
/// refused, the poster commits the other records without this record. If the server cancels a statement with
/// several records, for example because of `statement_timeout`, the poster halves them. If it cancels the
/// statement of a single record four times, with pauses of 50 ms to 200 ms, the record counts as refused.
///
/// Thread safety: all members may be called concurrently, except the destructor. A thread of the poster
/// completes the futures. If an executor runs a continuation in that thread, the continuation must not wait
/// for the poster, and must not destroy it. In the child of a fork(), the only allowed call is the
/// destructor, which then does nothing.
class poster {
public:
    /// Connects and creates missing tables. Throws std::invalid_argument if a setting or an option is not
    /// allowed. Throws error if the server cannot be reached, and std::system_error if the system refuses a
    /// thread.
    poster(const settings& where, const poster_options& chosen);
    /// Calls close() without a limit. The destructor returns only when all records are committed or failed.
    /// If the server may never return, call close() with a limit first.
    ~poster();
    poster(const poster&) = delete;
    poster& operator=(const poster&) = delete;

    /// Accepts a record. Without a value, the record is a tombstone. Returns false if the poster is closed,
    /// or if there is no room and the policy is `reject`. A record that is larger than `capacity_bytes`
    /// has room when no other record is pending. Throws std::bad_alloc.
    [[nodiscard]] bool post(std::string_view key, std::optional<std::string_view> value,
                            const records::headers& with = {});

    /// Like post(). The future is ready when the record is committed. If the record is refused, or close()
    /// gives it up, the future throws operation_canceled. If the server refuses the record, the future throws
    /// error. A record that close() gives up while its COMMIT is in doubt may be in the table.
    [[nodiscard]] future<records::position>
    submit(std::string_view key, std::optional<std::string_view> value, const records::headers& with = {});

    /// Waits until all records that were accepted before the call are committed or failed. Returns false at
    /// the limit.
    [[nodiscard]] bool flush(const wait_limit& limit);
    [[nodiscard]] bool flush(const wait_duration& limit) {
        return flush(static_cast<const wait_limit&>(limit));
    }

    /// Accepts no more records, and waits like flush(). After the limit, gives up the records that are left,
    /// and returns false.
    [[nodiscard]] bool close(const wait_limit& limit);
    [[nodiscard]] bool close(const wait_duration& limit) {
        return close(static_cast<const wait_limit&>(limit));
    }

    /// Returns the counters.
    [[nodiscard]] poster_metrics metrics() const;

private:
    class core;
    std::unique_ptr<core> core_;
};

/// Posts a record inside a transaction of the caller, on the caller's connection. The record appears in the
/// queue when the caller commits. Returns the place of the record. `record.topic` names the queue. The tables
/// of `schema` must exist: see create_tables().
///
/// Order: if two transactions change the same row and then post, their records have the order of the changes.
/// Post after the change. Throws error, and std::invalid_argument if the name of the queue or of the schema
/// is not allowed.
records::position post(pg_conn* inside, const records::outgoing& record,
                       const std::string& schema = "ekiden");

} // namespace ekiden::inline EKIDEN_ABI::postgres
