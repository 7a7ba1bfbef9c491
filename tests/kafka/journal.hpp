/// The line from a worker's functions to the soak: which functions ran, and an outside effect with a token.
///
/// Used by: the workers of the soak and the soak itself. A message that was sent survives the death of its
/// sender, so `kill -9` loses no report. The effect stands for a database: it compares the offset with the
/// last one of the key and stores the effect, as one step.
#pragma once

#include <tests/kafka/tally.hpp>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

namespace kafka_soak {

struct journal_entry {
    enum class kind : std::uint8_t { began, ended, effect };
    kind what = kind::began;
    std::int32_t process = 0;
    std::int32_t partition = 0;
    std::uint32_t attempt = 1;
    std::int64_t offset = 0; // the token
    record_name which;
};

/// The side of a worker. Thread-safe.
class journal {
public:
    explicit journal(std::string path); ///< An empty path reports nothing.
    void began(const record_name& which, std::int32_t partition, std::int64_t offset, unsigned attempt) const;
    void ended(const record_name& which, std::int32_t partition, std::int64_t offset) const;
    /// Stores the effect, unless the key has one with this offset or a later one. Returns whether it did.
    bool effect(const record_name& which, std::int32_t partition, std::int64_t offset) const;

private:
    void send(const journal_entry& entry) const;

    std::string path_;
    int socket_ = -1; // one for all reports, which keeps their order
};

/// The side of the soak: a thread that reads the entries of all workers.
class journal_server {
public:
    using handler = std::function<bool(const journal_entry&)>; ///< The result is the answer to an effect.

    journal_server(std::string path, handler f);
    ~journal_server();
    journal_server(const journal_server&) = delete;
    journal_server& operator=(const journal_server&) = delete;

private:
    void serve(const std::stop_token& stop);

    std::string path_;
    handler handler_;
    int listener_;
    std::jthread thread_;
};

} // namespace kafka_soak
