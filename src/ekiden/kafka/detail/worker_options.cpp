// The checks of the options of a worker.
#include <ekiden/kafka/detail/commit_metadata.hpp>
#include <ekiden/kafka/detail/committer.hpp>
#include <ekiden/kafka/detail/core_options.hpp>
#include <ekiden/sys/bad_argument.hpp>

#include <algorithm>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

bool is_topic_name(std::string_view name) noexcept {
    const auto is_allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.'
               || c == '_' || c == '-';
    };
    return !name.empty() && name.size() <= 249 && name != "." && name != ".."
           && std::ranges::all_of(name, is_allowed);
}

void check(const worker_options& chosen) {
    using std::chrono::milliseconds;
    const auto refuse = [](std::string_view name, auto value, std::string_view allowed) {
        sys::refuse_argument("kafka::worker", name, value, allowed);
    };
    const auto expect_time = [&](std::string_view name, milliseconds value, milliseconds least,
                                 milliseconds most, std::string_view allowed) {
        if (value < least || value > most) refuse(name, std::to_string(value.count()) + " ms", allowed);
    };
    const auto expect_text = [&](std::string_view name, const std::string& value) {
        if (value.empty() || value.size() > 200 || value.find('\0') != value.npos)
            refuse(name, '"' + value + '"', "1 to 200 characters without zero bytes");
    };
    const auto expect_topic = [&](std::string_view name, const std::string& value) {
        if (!is_topic_name(value)) refuse(name, '"' + value + '"', topic_names);
    };
    expect_text("group", chosen.group);
    expect_topic("topic", chosen.topic);
    if (chosen.mode == delivery::exactly_once || !chosen.name.empty()) expect_text("name", chosen.name);
    if (chosen.window < 1 || chosen.window > most_window) refuse("window", chosen.window, "1 to 24000");
    if (chosen.held < 1 || chosen.held > 1'000'000) refuse("held", chosen.held, "1 to 1000000");
    if (chosen.held_bytes < 1) refuse("held_bytes", chosen.held_bytes, "at least 1");
    expect_time("commit_every", chosen.commit_every, milliseconds(1), milliseconds(60'000), "1 to 60000 ms");
    expect_time("revoke_limit", chosen.revoke_limit, milliseconds(0), milliseconds(3'600'000),
                "0 to 3600000 ms");
    expect_time("session", chosen.session, milliseconds(1'000), milliseconds(1'800'000),
                "1000 to 1800000 ms");
    expect_time("transaction_limit", chosen.transaction_limit, milliseconds(1'000), milliseconds(900'000),
                "1000 to 900000 ms");
    if (chosen.mode != delivery::exactly_once && chosen.mode != delivery::at_least_once)
        refuse("mode", static_cast<unsigned>(chosen.mode), "exactly_once or at_least_once");
    const retry_options& retry = chosen.retry;
    if (retry.attempts < 1) refuse("retry.attempts", retry.attempts, "at least 1");
    expect_time("retry.delay", retry.delay, milliseconds(0), milliseconds(86'400'000), "0 to 86400000 ms");
    expect_time("retry.longest_delay", retry.longest_delay, retry.delay, milliseconds(86'400'000),
                "retry.delay to 86400000 ms");
    if (retry.then > records::on_failure::park_key)
        refuse("retry.then", static_cast<unsigned>(retry.then), "a value of on_failure");
    if (retry.then == records::on_failure::stop) return;
    expect_topic("retry.dead_letters", retry.dead_letters);
    // Otherwise, the dead letters of the worker would be records of the worker.
    if (retry.dead_letters == chosen.topic)
        refuse("retry.dead_letters", '"' + retry.dead_letters + '"', "another topic");
    if (retry.then != records::on_failure::park_key) return;
    const std::string parked = parked_topic({.topic = {}, .id = {}, .limits = {}, .retry = retry});
    if (!is_topic_name(parked) || parked == chosen.topic)
        refuse("retry.dead_letters", '"' + retry.dead_letters + '"',
               "with park_key, 1 to 242 characters, and not the topic without \".parked\"");
}

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
