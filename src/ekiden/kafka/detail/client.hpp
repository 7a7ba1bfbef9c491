/// Owners of librdkafka's objects, its configuration, and its errors as kafka::error.
///
/// Part: kafka. Used by: poster, worker. Private.
#pragma once

#include <ekiden/kafka/error.hpp>
#include <ekiden/kafka/settings.hpp>
#include <ekiden/records/record.hpp>

#include <librdkafka/rdkafka.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

template <auto Destroy>
struct destroyed_by {
    template <class T>
    void operator()(T* object) const noexcept {
        Destroy(object);
    }
};
using client_handle = std::unique_ptr<rd_kafka_t, destroyed_by<rd_kafka_destroy>>;
using queue_handle = std::unique_ptr<rd_kafka_queue_t, destroyed_by<rd_kafka_queue_destroy>>;
using topic_handle = std::unique_ptr<rd_kafka_topic_t, destroyed_by<rd_kafka_topic_destroy>>;
using event_handle = std::unique_ptr<rd_kafka_event_t, destroyed_by<rd_kafka_event_destroy>>;
using error_handle = std::unique_ptr<rd_kafka_error_t, destroyed_by<rd_kafka_error_destroy>>;
using list_handle =
    std::unique_ptr<rd_kafka_topic_partition_list_t, destroyed_by<rd_kafka_topic_partition_list_destroy>>;

/// A setting that the program cannot choose, and the option or the value to which it is bound.
struct fixed_setting {
    std::string_view name;
    std::string_view allowed;
};

/// The configuration of a client of librdkafka.
class configuration {
public:
    /// Reads the settings of a program. Throws std::invalid_argument if a setting is unknown, has a wrong
    /// value, or is one of `fixed`. The opaque pointer must point to a client_base, whose log is called.
    configuration(const settings& where, std::span<const fixed_setting> fixed);

    /// Sets a value that the library chooses.
    void set(const char* name, const std::string& value);
    /// Sets a value unless the program has chosen one.
    void set_default(std::string_view name, const std::string& value);
    /// Returns the setting "message.max.bytes".
    [[nodiscard]] std::size_t most_bytes() const;
    /// Returns the configuration, for functions of librdkafka.
    [[nodiscard]] rd_kafka_conf_t* get() const noexcept { return conf_.get(); }
    /// Makes a client. Its callbacks get `opaque`. Throws std::invalid_argument if the settings contradict
    /// each other, and std::system_error if the system refuses a thread. The client has no connection yet.
    [[nodiscard]] client_handle make(rd_kafka_type_t type);

private:
    const settings& chosen_; // must outlive the configuration
    std::unique_ptr<rd_kafka_conf_t, destroyed_by<rd_kafka_conf_destroy>> conf_;
};

/// The state to which the callbacks of a client belong. The opaque pointer of each client points to one.
struct client_base {
    explicit client_base(const settings& where) : configured(where) {}
    const settings configured;
};

/// Returns whether a topic can have this name.
[[nodiscard]] bool is_topic_name(std::string_view name) noexcept;
/// The allowed names of topics, for messages.
inline constexpr std::string_view topic_names = "1 to 249 letters, digits, dots, underscores and hyphens";

/// Returns the arguments of rd_kafka_produceva() for a record, without its topic. They refer to the key, the
/// value and the headers, which librdkafka copies.
[[nodiscard]] std::vector<rd_kafka_vu_t> parts_of(std::optional<std::string_view> key,
                                                  std::optional<std::string_view> value,
                                                  const records::headers& with);

/// Returns the kind of an error that has no flags.
[[nodiscard]] error_kind kind_of(rd_kafka_resp_err_t code) noexcept;
/// Returns an exception for an error code. `what` is the operation that has failed.
[[nodiscard]] error make_error(std::string_view what, rd_kafka_resp_err_t code, std::string_view reason = {},
                               bool is_in_doubt = false);
/// Returns an exception for an error object, whose flags decide about the kind.
[[nodiscard]] error make_error(std::string_view what, const rd_kafka_error_t& reported);

/// Throws the exception of make_error() unless `code` means success.
void expect_success(std::string_view what, rd_kafka_resp_err_t code);

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
