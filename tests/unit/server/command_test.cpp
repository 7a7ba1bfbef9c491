// The commands of the ordered server: which ones it accepts, and which ones it refuses.
#include <ordered_server/command.hpp>

#include <doctest/doctest.h>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ordered;

command ask(std::vector<std::string_view> words, const options& chosen = {}) {
    return interpret(words, chosen);
}

} // namespace

TEST_CASE("requests about a key have their key and number") {
    const command add = ask({"aDd", "k", "-7"});
    CHECK(add.what == verb::add);
    CHECK(add.key == "k");
    CHECK(add.n == -7);
    CHECK(ask({"WORK", "", "0"}).what == verb::work);
    const command wait = ask({"Wait", "k", "10000"});
    CHECK(wait.what == verb::wait);
    CHECK(wait.key == "k");
    CHECK(wait.n == 10'000);
    CHECK(ask({"GET", "k"}).what == verb::get);
    CHECK(ask({"RESET", "k"}).what == verb::reset);
}

TEST_CASE("requests with several keys have all of them") {
    const command set = ask({"mset", "a", "1", "b", "-2", "a", "3"});
    CHECK(set.what == verb::mset);
    REQUIRE(set.several.size() == 2); // the last number of a key counts
    CHECK(set.several[0].key == "a");
    CHECK(set.several[0].total == 3);
    CHECK(set.several[1].key == "b");
    CHECK(set.several[1].total == -2);
    const command get = ask({"MGET", "a", "b", "a"});
    CHECK(get.what == verb::mget);
    CHECK(get.several.size() == 3);
    const command transfer = ask({"Transfer", "a", "b", "-5"});
    CHECK(transfer.what == verb::transfer);
    REQUIRE(transfer.several.size() == 2);
    CHECK(transfer.several[1].key == "b");
    CHECK(transfer.n == -5);
}

TEST_CASE("mistakes become errors that name them") {
    options chosen;
    chosen.limit.work = 10;
    const std::vector<std::vector<std::string_view>> wrong{{"NOSUCH"},
                                                           {"ADD", "k"},
                                                           {"ADD", "k", "1", "2"},
                                                           {"ADD", "k", "1x"},
                                                           {"ADD", "k", ""},
                                                           {"WORK", "k", "-1"},
                                                           {"WORK", "k", "11"},
                                                           {"WAIT", "k"},
                                                           {"WAIT", "k", "-1"},
                                                           {"WAIT", "k", "10001"},
                                                           {"WAIT", "k", "1.5"},
                                                           {"WAIT", "k", "1", "2"},
                                                           {"ADD", "k", "9223372036854775808"},
                                                           {"GET"},
                                                           {"MSET", "k"},
                                                           {"MSET", "k", "1", "l"},
                                                           {"MSET", "k", "1", "l", "x"},
                                                           {"MGET"},
                                                           {"TRANSFER", "k", "l"},
                                                           {"TRANSFER", "k", "l", "x"},
                                                           {"TRANSFER", "k", "k", "1"},
                                                           {"TRANSFER", "k", "l", "1", "2"},
                                                           {"PING", "a", "b"},
                                                           {"CONFIG", "SET", "a"},
                                                           {"CONFIG", "GET"},
                                                           {""},
                                                           {"QUIT", "now"}};
    for (const auto& words : wrong) {
        CAPTURE(words[0]);
        const command refused = ask(words, chosen);
        CHECK(refused.what == verb::error);
        CHECK(refused.text.starts_with("-ERR "));
        CHECK(refused.text.find("\r\n") == refused.text.size() - 2);
    }
}

TEST_CASE("a key has a longest length") {
    const std::string longest(512, 'k');
    CHECK(ask({"ADD", longest, "1"}).what == verb::add);
    CHECK(ask({"ADD", longest + "k", "1"}).text == "-ERR too long a key\r\n");
    CHECK(ask({"MGET", "k", longest + "k"}).text == "-ERR too long a key\r\n");
}

TEST_CASE("bytes of a client do not break the line of its error") {
    const command refused = ask({"a\r\n+OK\r\n\xff"});
    CHECK(refused.text == "-ERR unknown command 'a  +ok   '\r\n");
}

TEST_CASE("what redis-cli and redis-benchmark ask is answered") {
    CHECK(ask({"PING"}).text == "+PONG\r\n");
    CHECK(ask({"PING", "x\r\n"}).text == "$3\r\nx\r\n\r\n");
    CHECK(ask({"CONFIG", "GET", "save"}).text == "*2\r\n$4\r\nsave\r\n$0\r\n\r\n");
    CHECK(ask({"CONFIG", "GET", "nosuch"}).text == "*0\r\n");
    CHECK(ask({"COMMAND", "DOCS"}).text == "*0\r\n");
    CHECK(ask({"COMMAND"}).text == "*0\r\n");
    CHECK(ask({"INFO", "server"}).what == verb::info);
    CHECK(ask({"QUIT"}).what == verb::quit);
}
