#include <ordered_server/command.hpp>
#include <ordered_server/encoding.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <utility>

namespace ordered {

namespace {

/// The allowed number of words, including the name: from `least` to `most`.
struct entry {
    std::string_view name;
    std::size_t least, most;
    verb what;
};
constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
constexpr entry table[] = {
    {"add", 3, 3, verb::add},          {"work", 3, 3, verb::work},   {"wait", 3, 3, verb::wait},
    {"get", 2, 2, verb::get},          {"reset", 2, 2, verb::reset}, {"ping", 1, 2, verb::text},
    {"config", 2, 3, verb::text},      {"info", 1, any, verb::info}, {"quit", 1, 1, verb::quit},
    {"command", 1, any, verb::text},   {"mset", 3, any, verb::mset}, {"mget", 2, any, verb::mget},
    {"transfer", 4, 4, verb::transfer}};

std::string lower(std::string_view word) {
    std::string small(word.substr(0, 32)); // no name is longer than this
    for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return small;
}

bool read(std::string_view digits, std::int64_t& n) {
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    return wrong == std::errc() && end == digits.data() + digits.size();
}

/// Answers the parameters that redis-cli and redis-benchmark request.
std::string config(std::string_view wanted, const options& chosen) {
    const std::pair<std::string_view, std::string> all[] = {
        {"save", ""}, {"appendonly", "no"}, {"maxclients", std::to_string(chosen.limit.connections)}};
    std::string found;
    std::size_t count = 0;
    for (const auto& [name, value] : all) {
        if (wanted != "*" && wanted != name) continue;
        encoding::bulk(found, name);
        encoding::bulk(found, value);
        count += 2;
    }
    std::string reply;
    encoding::array(reply, count);
    return reply + found;
}

constexpr std::string_view not_an_integer = "value is not an integer or out of range";
constexpr std::string_view too_long_a_key = "too long a key";

/// Interprets the arguments of a request with several keys. Each key of MSET is listed once, with its last
/// total.
command interpret_several(command asked, std::span<const std::string_view> words, const options& chosen) {
    const bool sets = asked.what == verb::mset;
    if (sets && words.size() % 2 != 0) return refusal("wrong number of arguments for 'mset' command");
    if (asked.what == verb::transfer) {
        if (!read(words[2], asked.n)) return refusal(not_an_integer);
        if (words[0] == words[1]) return refusal("TRANSFER takes two different keys");
        words = words.first(2);
    }
    for (std::size_t i = 0; i != words.size(); i += sets ? 2 : 1) {
        key_and_total next{words[i]};
        if (next.key.size() > chosen.limit.key) return refusal(too_long_a_key);
        if (sets && !read(words[i + 1], next.total)) return refusal(not_an_integer);
        const auto same = std::find_if(asked.several.begin(), asked.several.end(),
                                       [&](const key_and_total& k) { return sets && k.key == next.key; });
        if (same == asked.several.end())
            asked.several.push_back(next);
        else
            same->total = next.total;
    }
    return asked;
}

} // namespace

command refusal(std::string_view why) {
    command refused{.what = verb::error};
    encoding::error(refused.text, why);
    return refused;
}

command interpret(std::span<const std::string_view> words, const options& chosen) {
    const std::string name = lower(words[0]);
    const entry* const known =
        std::find_if(std::begin(table), std::end(table), [&](const entry& e) { return e.name == name; });
    if (known == std::end(table)) return refusal("unknown command '" + name + "'");
    if (words.size() < known->least || words.size() > known->most)
        return refusal("wrong number of arguments for '" + name + "' command");
    command asked{.what = known->what};
    if (is_about_key(asked.what)) {
        if (words[1].size() > chosen.limit.key) return refusal(too_long_a_key);
        asked.key = words[1];
        if (words.size() == 3 && !read(words[2], asked.n)) return refusal(not_an_integer);
        if (asked.what == verb::work && (asked.n < 0 || asked.n > chosen.limit.work))
            return refusal("WORK takes 0 to " + std::to_string(chosen.limit.work) + " draws");
        if (asked.what == verb::wait && (asked.n < 0 || asked.n > chosen.limit.wait))
            return refusal("WAIT key ms takes 0 to " + std::to_string(chosen.limit.wait) + " milliseconds");
    } else if (has_several_keys(asked.what)) {
        return interpret_several(std::move(asked), words.subspan(1), chosen);
    } else if (name == "config") {
        if (lower(words[1]) != "get" || words.size() != 3) return refusal("CONFIG knows only GET name");
        asked.text = config(lower(words[2]), chosen);
    } else if (name == "command") {
        encoding::array(asked.text, 0); // redis-cli continues without descriptions
    } else if (words.size() == 2 && asked.what == verb::text) {
        encoding::bulk(asked.text, words[1]);
    } else if (asked.what != verb::info) {
        encoding::simple(asked.text, asked.what == verb::quit ? "OK" : "PONG");
    }
    return asked;
}

} // namespace ordered
