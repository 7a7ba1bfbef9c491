#include <ekiden/kafka/detail/core_options.hpp>

#include <charconv>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

std::string parked_topic(const core_options& of) { return of.retry.dead_letters + ".parked"; }

// A topic of Kafka has no slash in its name, so the first two slashes separate the three parts.
std::string parked_key(std::string_view topic, std::int32_t partition, std::string_view key) {
    return std::string(topic) + "/" + std::to_string(partition) + "/" + std::string(key);
}

std::optional<parked_name> read_parked_key(std::string_view text) {
    const std::size_t first = text.find('/');
    const std::size_t second = first == text.npos ? text.npos : text.find('/', first + 1);
    if (second == text.npos) return {};
    parked_name name{std::string(text.substr(0, first)), 0, std::string(text.substr(second + 1))};
    const char* const end = text.data() + second;
    const auto [rest, error] = std::from_chars(text.data() + first + 1, end, name.partition);
    if (error != std::errc() || rest != end || name.partition < 0) return {};
    return name;
}

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
