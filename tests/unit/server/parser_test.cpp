// The parser of the ordered server: whole requests, requests in pieces, and what is no request.
#include <ordered_server/request_parser.hpp>

#include <doctest/doctest.h>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ordered;
using result = request_parser::result;
using words = std::vector<std::string>;

words copied(const request_parser& from) { return {from.words().begin(), from.words().end()}; }

struct outcome {
    std::vector<words> requests;
    std::string error;
    bool is_inside = false;
};

/// What comes out of `bytes`, given in pieces of `step` bytes.
outcome parse(std::string_view bytes, std::size_t step, const limits& limit = {}) {
    request_parser parser(limit);
    outcome found;
    while (!bytes.empty()) {
        std::string_view piece = bytes.substr(0, step);
        bytes.remove_prefix(piece.size());
        for (;;) {
            const result r = parser.parse(piece);
            if (r == result::request) found.requests.push_back(copied(parser));
            if (r == result::broken) {
                found.error = parser.error();
                return found;
            }
            if (r == result::need_more) break;
        }
        REQUIRE(piece.empty());
    }
    found.is_inside = parser.is_inside();
    return found;
}

/// The same whole and byte by byte.
outcome parse_both(std::string_view bytes, const limits& limit = {}) {
    const outcome whole = parse(bytes, bytes.size(), limit);
    for (const std::size_t step : {1, 2, 3, 7}) {
        const outcome pieces = parse(bytes, step, limit);
        CHECK(pieces.requests == whole.requests);
        CHECK(pieces.error == whole.error);
        CHECK(pieces.is_inside == whole.is_inside);
    }
    return whole;
}

} // namespace

TEST_CASE("an array of bulk strings is a request, whole and in pieces") {
    const outcome found = parse_both("*3\r\n$3\r\nADD\r\n$1\r\nk\r\n$2\r\n17\r\n*1\r\n$4\r\nPING\r\n");
    REQUIRE(found.requests.size() == 2);
    CHECK(found.requests[0] == words{"ADD", "k", "17"});
    CHECK(found.requests[1] == words{"PING"});
    CHECK_FALSE(found.is_inside);
}

TEST_CASE("a word may have any bytes, also none") {
    using namespace std::string_literals;
    const outcome found = parse_both("*3\r\n$3\r\nGET\r\n$0\r\n\r\n$6\r\n\0\r\n*\xff \r\n"s);
    REQUIRE(found.requests.size() == 1);
    CHECK(found.requests[0] == words{"GET", "", "\0\r\n*\xff "s});
}

TEST_CASE("inline commands are split at blanks, and quotes hold words together") {
    const outcome found =
        parse_both("  ADD  key\t5 \r\nPING\n\r\n   \nGET \"a b\\n\\x41\\\"\" 'c\\'d\\n' x\"y z\"\n");
    REQUIRE(found.requests.size() == 3);
    CHECK(found.requests[0] == words{"ADD", "key", "5"});
    CHECK(found.requests[1] == words{"PING"});
    CHECK(found.requests[2] == words{"GET", "a b\nA\"", "c'd\\n", "xy z"});
}

TEST_CASE("what is no hexadecimal number is no such escape") {
    const outcome found = parse_both("A \"\\x-1\" \"\\x+1\" \"\\x4\" \"\\xg1\" \"\\x 1\"\n");
    REQUIRE(found.requests.size() == 1);
    CHECK(found.requests[0] == words{"A", "x-1", "x+1", "x4", "xg1", "x 1"});
    CHECK(parse_both("A \"\\x41\n").error.find("unbalanced") != std::string::npos); // ends with the digits
}

TEST_CASE("an empty array and an empty line are no requests") {
    const outcome found = parse_both("*0\r\n*-1\r\n\r\n\n*1\r\n$4\r\nPING\r\n");
    REQUIRE(found.requests.size() == 1);
    CHECK(found.error.empty());
}

TEST_CASE("a request that is not whole is inside") {
    for (const char* part : {"*", "*1", "*1\r\n", "*1\r\n$4", "*1\r\n$4\r\nPI", "*1\r\n$4\r\nPING\r", "PIN"})
        CHECK(parse_both(part).is_inside);
}

TEST_CASE("what is no request is refused with a reason, and nothing follows") {
    const std::pair<const char*, const char*> samples[] = {
        {"*x\r\n", "invalid multibulk length"},
        {"*1\n", "invalid multibulk length"},
        {"*99999999999999999999999\r\n", "too long a line"},
        {"*1111111111111111111111111111111", "too long a line"},
        {"*1\r\n:5\r\n", "expected '$', got ':'"},
        {"*1\r\n*1\r\n$1\r\na\r\n", "expected '$', got '*'"},
        {"*1\r\n$-1\r\n", "invalid bulk length"},
        {"*1\r\n$ 4\r\n", "invalid bulk length"},
        {"*1\r\n$9223372036854775807\r\n", "invalid bulk length"},
        {"*1\r\n$4\r\nPINGxx", "line end"},
        {"GET \"a\r\n", "unbalanced quotes"},
        {"GET \"a\"b\r\n", "unbalanced quotes"},
        {"GET 'a\r\n", "unbalanced quotes"},
    };
    for (const auto& [bytes, why] : samples) {
        CAPTURE(bytes);
        const outcome found = parse_both(std::string(bytes) + "PING\r\n");
        CHECK(found.requests.empty());
        CHECK(found.error.find(why) != std::string::npos);
        CHECK(found.error.starts_with("Protocol error: "));
    }
}

TEST_CASE("the limits hold for words, bytes and lines") {
    const limits small{.words = 3, .frame = 16};
    CHECK(parse_both("*4\r\n", small).error.find("multibulk") != std::string::npos);
    CHECK(parse_both("a b c d\r\n", small).error.find("too many words") != std::string::npos);
    CHECK(parse_both("*2\r\n$8\r\n01234567\r\n$8\r\n01234567\r\n", small).requests.size() == 1);
    CHECK(parse_both("*2\r\n$8\r\n01234567\r\n$9\r\n", small).error.find("bulk length") != std::string::npos);
    CHECK(parse_both(std::string(17, 'a'), small).error.find("too long") != std::string::npos);
    CHECK(parse_both(std::string(16, 'a') + "\n", small).requests.size() == 1);
}

TEST_CASE("a broken parser stays broken") {
    request_parser parser{limits{}};
    std::string_view bytes = "*x\r\nPING\r\n";
    CHECK(parser.parse(bytes) == result::broken);
    CHECK(parser.parse(bytes) == result::broken);
    std::string_view more = "PING\r\n";
    CHECK(parser.parse(more) == result::broken);
    std::string_view nothing;
    CHECK(parser.parse(nothing) == result::broken);
}
