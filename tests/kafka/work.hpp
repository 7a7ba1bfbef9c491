/// What every worker of the soak does with a record, and the arguments that the soak gives to a worker.
///
/// Used by: the workers. The value of a record is `POSTER N KIND`: `.` is a usual record, `s` takes a
/// thousand times as long, and the function of `x` always throws.
#pragma once

#include <tests/kafka/journal.hpp>

#include <charconv>
#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace kafka_soak {

struct input {
    record_name which;
    char kind = '.';
};

inline std::uint32_t number_in(std::string_view text) {
    std::uint32_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size())
        throw std::invalid_argument("no number: '" + std::string(text) + "'");
    return n;
}

/// The key of a record is its number as text.
inline input read_input(std::string_view key, std::string_view value) {
    const std::size_t first = value.find(' '), second = value.rfind(' ');
    if (first == std::string_view::npos || second + 2 != value.size() || first == second)
        throw std::invalid_argument("no record of the soak: '" + std::string(value) + "'");
    return {{number_in(value.substr(0, first)), number_in(key),
             number_in(value.substr(first + 1, second - first - 1))},
            value.back()};
}

/// The arguments of a worker: pairs of `--name value`.
struct arguments {
    arguments(int count, char** words) {
        for (int i = 1; i < count; i += 2) {
            const std::string name = words[i];
            if (!name.starts_with("--") || i + 1 >= count)
                throw std::invalid_argument("the arguments are pairs: --name value");
            all[name.substr(2)] = words[i + 1];
        }
    }
    [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise = "") const {
        const auto at = all.find(name);
        return at == all.end() ? otherwise : at->second;
    }
    [[nodiscard]] std::uint32_t number(const std::string& name, std::uint32_t otherwise = 0) const {
        const auto at = all.find(name);
        return at == all.end() ? otherwise : number_in(at->second);
    }
    std::map<std::string, std::string> all;
};

/// How long the function of a record works.
inline std::chrono::microseconds work_of(const input& what, std::chrono::microseconds usual) {
    return what.kind == 's' ? usual * 1000 : usual;
}

} // namespace kafka_soak
