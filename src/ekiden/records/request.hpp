/// The argument and the result of the function that handles a record.
///
/// Part: records. Used by: programs, the engines `kafka` and `postgres`.
#pragma once

#include <ekiden/records/record.hpp>

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::records {

/// A record for the function that handles it. The request exists until the function has returned. If the
/// function returns a coroutine, the request exists until the coroutine has ended.
struct request {
    const position& id;     ///< the place of the record
    std::string_view key;   ///< Records with the same key keep their order. Empty without a key.
    std::string_view value; ///< empty for a tombstone
    bool has_key = true;    ///< False for a record without a key. Such records have no order.
    bool has_value = true;  ///< False for a tombstone.
    const headers& with;    ///< the headers of the record
    /// 1 for the first call. Increases with each retry. Kafka: only calls of this process count.
    unsigned attempt = 1;
    /// The generation of the consumer group. Useful for diagnosis only: a group that is deleted starts again
    /// with a small number. Always 0 in PostgreSQL.
    std::int32_t generation = 0;
    /// A stop is requested when the worker gives up the record. A result of the function has then no effect.
    std::stop_token given_up;
};

/// Collects the records that a function sends as its result. If the worker promises *exactly once*, these
/// records become visible together with the end of the request, or never. One thread at a time may use it.
class reply {
public:
    /// Sends a record when the function has succeeded. If the function fails, the record is dropped.
    void post(std::string topic, std::string key, std::optional<std::string> value, headers with = {}) {
        sent_.push_back({std::move(topic), std::move(key), std::move(value), std::move(with)});
    }
    /// Returns the records that were sent so far.
    [[nodiscard]] const std::vector<outgoing>& sent() const noexcept { return sent_; }
    /// Removes and returns all records. For the engines.
    [[nodiscard]] std::vector<outgoing> take() noexcept { return std::exchange(sent_, {}); }

private:
    std::vector<outgoing> sent_;
};

} // namespace ekiden::inline EKIDEN_ABI::records
