/// The exception that reports an error of Kafka.
///
/// Part: kafka. Used by: programs.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ekiden::inline EKIDEN_ABI::kafka {

/// What can be done after an error.
enum class error_kind : std::uint8_t {
    retriable, ///< The same call may succeed later.
    abortable, ///< The record or the transaction has failed. The client continues with the next one.
    fenced,    ///< Another client has taken over the transactional id. This client is of no use any more.
    fatal,     ///< The client is of no use any more. A new client may be able to continue.
};

/// Returns "retriable", "abortable", "fenced" or "fatal".
[[nodiscard]] const char* to_string(error_kind kind) noexcept;

/// An error that librdkafka or a broker has reported. The text contains the operation and the reason.
class error : public std::runtime_error {
public:
    error(const std::string& text, error_kind kind, int code, bool is_in_doubt = false)
        : std::runtime_error(text), kind_(kind), in_doubt_(is_in_doubt), code_(code) {}

    /// Returns what can be done.
    [[nodiscard]] error_kind kind() const noexcept { return kind_; }
    /// Returns the error code of librdkafka. Positive codes are codes of Kafka's protocol.
    [[nodiscard]] int code() const noexcept { return code_; }
    /// Returns true if the brokers may have done the operation although it was reported as failed.
    [[nodiscard]] bool is_in_doubt() const noexcept { return in_doubt_; }

private:
    error_kind kind_;
    bool in_doubt_;
    int code_;
};

} // namespace ekiden::inline EKIDEN_ABI::kafka
