#include <ordered_server/command.hpp>
#include <ordered_server/encoding.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace ordered {

namespace {

/// `words` with the name; negative: so many or more.
struct entry {
    std::string_view name;
    int words;
    verb what;
};
constexpr entry table[] = {{"add", 3, verb::add},      {"work", 3, verb::work},  {"get", 2, verb::get},
                           {"reset", 2, verb::reset},  {"info", -1, verb::info}, {"ping", -1, verb::text},
                           {"config", -3, verb::text}, {"quit", 1, verb::quit},  {"command", -1, verb::text}};

std::string lower(std::string_view word) {
    std::string small(word.substr(0, 32)); // no name is longer
    for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return small;
}

/// What redis-cli and redis-benchmark ask for.
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

command answer(const entry& e, std::span<const std::string_view> words, const options& chosen) {
    command done{.what = e.what};
    const std::string second = words.size() > 1 ? lower(words[1]) : "";
    if (e.name == "quit")
        encoding::simple(done.text, "OK");
    else if (e.name == "ping" && words.size() == 1)
        encoding::simple(done.text, "PONG");
    else if (e.name == "ping" && words.size() == 2)
        encoding::bulk(done.text, words[1]);
    else if (e.name == "config" && second == "get" && words.size() == 3)
        done.text = config(lower(words[2]), chosen);
    else if (e.name == "command")
        encoding::array(done.text, 0); // redis-cli goes on without descriptions
    else if (e.what != verb::info)
        return refusal("unknown subcommand or wrong number of arguments for '" + std::string(e.name) + "'");
    return done;
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
    if (known->words >= 0 ? std::ssize(words) != known->words : std::ssize(words) < -known->words)
        return refusal("wrong number of arguments for '" + name + "' command");
    if (!is_about_key(known->what)) return answer(*known, words, chosen);

    if (words[1].size() > chosen.limit.key) return refusal("too long a key");
    command asked{.what = known->what, .key = words[1]};
    if (words.size() == 3) {
        const std::string_view digits = words[2];
        const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), asked.n);
        if (wrong != std::errc() || end != digits.data() + digits.size())
            return refusal("value is not an integer or out of range");
        if (asked.what == verb::work && (asked.n < 0 || asked.n > chosen.limit.work))
            return refusal("WORK takes 0 to " + std::to_string(chosen.limit.work) + " draws");
    }
    return asked;
}

} // namespace ordered
