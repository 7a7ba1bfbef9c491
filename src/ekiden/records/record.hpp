/// Records: requests and results that travel between processes.
///
/// Part: records. Used by: programs, the engines `kafka` and `postgres`.
#pragma once

#include <ekiden/sys/config.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::records {

/// A name and a value that travel with a record, for example `traceparent`. Several headers of a record may
/// have the same name.
struct header {
    std::string name;  ///< any text
    std::string value; ///< any bytes

    friend bool operator==(const header&, const header&) = default;
};
/// The headers of a record, in their order.
using headers = std::vector<header>;

/// Returns the value of the last header with this name, or a null pointer.
[[nodiscard]] inline const std::string* find(const headers& in, const std::string& name) noexcept {
    for (auto at = in.rbegin(); at != in.rend(); ++at)
        if (at->name == name) return &at->value;
    return nullptr;
}

/// The place of a record, which no other record has. A program that writes to a database can store the place
/// with each effect, and can so recognize a record that it receives again.
struct position {
    std::string topic;          ///< the topic of Kafka, or the name of the queue in PostgreSQL
    std::int32_t partition = 0; ///< the partition of the topic; always 0 in PostgreSQL
    std::int64_t offset = -1;   ///< Increases within a partition. Numbers can be missing.

    /// Compares topics, then partitions, then offsets.
    friend auto operator<=>(const position&, const position&) = default;
};

/// A record that a program sends.
struct outgoing {
    std::string topic;                ///< the topic of Kafka, or the name of the queue in PostgreSQL
    std::string key;                  ///< Records with the same key keep their order.
    std::optional<std::string> value; ///< Without a value, the record is a tombstone, which deletes the key.
    headers with;                     ///< the headers of the record
};

} // namespace ekiden::inline EKIDEN_ABI::records
