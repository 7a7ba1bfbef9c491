// The parser of the ordered server gets arbitrary bytes, in one piece and in many. It must find the same
// requests in both cases, keep its limits, and return only requests that the commands can handle.
#include <ordered_server/command.hpp>
#include <ordered_server/request_parser.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ordered;
using result = request_parser::result;

void expect(bool holds) {
    if (!holds) std::abort();
}

struct outcome {
    std::vector<std::string> words; // the words of all requests, each preceded by the number of the request
    std::string error;
    bool is_inside = false;

    bool operator==(const outcome&) const = default;
};

const limits small{.words = 6, .frame = 200, .work = 1000};

void take(const request_parser& parser, outcome& into) {
    std::size_t bytes = 0;
    into.words.push_back(std::to_string(parser.words().size()));
    for (const std::string_view word : parser.words()) {
        bytes += word.size();
        into.words.emplace_back(word);
    }
    expect(!parser.words().empty() && parser.words().size() <= small.words && bytes <= small.frame);
    options chosen;
    chosen.limit = small;
    const command asked = interpret(parser.words(), chosen);
    expect(asked.what != verb::error
           || (asked.text.starts_with("-ERR ") && asked.text.find('\n') + 1 == asked.text.size()));
    const bool has_keys = is_about_key(asked.what) || has_several_keys(asked.what);
    expect(has_keys == asked.text.empty() || asked.what == verb::info);
    expect(has_several_keys(asked.what) != asked.several.empty());
}

/// Parses a piece of `first` bytes, then pieces of 1, 2, 3 ... to 5 bytes, repeatedly.
outcome parse(std::string_view bytes, std::size_t first) {
    request_parser parser(small);
    outcome found;
    for (std::size_t size = first; !bytes.empty(); size = size % 5 + 1) {
        std::string_view piece = bytes.substr(0, size);
        bytes.remove_prefix(piece.size());
        for (;;) {
            const std::size_t before = piece.size();
            const result r = parser.parse(piece);
            if (r == result::broken) {
                found.error = parser.error();
                expect(!found.error.empty());
                return found;
            }
            if (r == result::need_more) break;
            expect(piece.size() < before);
            take(parser, found);
        }
        expect(piece.empty());
    }
    found.is_inside = parser.is_inside();
    return found;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    expect(parse(bytes, size) == parse(bytes, 1));
    return 0;
}
