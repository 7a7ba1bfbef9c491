// The keys of the topic with the parked keys.
#include <ekiden/kafka/detail/core_options.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace ekiden::kafka::detail;

TEST_CASE("a parked key is read back, whatever bytes the key has") {
    for (const std::string& key :
         {std::string("a"), std::string(), std::string("x/y/3"), std::string("\0\xff/", 3)}) {
        const auto name = read_parked_key(parked_key("orders.v1", 7, key));
        REQUIRE(name);
        CHECK(name->topic == "orders.v1");
        CHECK(name->partition == 7);
        CHECK(name->key == key);
    }
}

TEST_CASE("a foreign record in the topic of parked keys is not read") {
    for (const char* text : {"", "a", "a/b", "a/b/c", "a/-1/c", "a/1x/c", "a//c", "a/99999999999/c"})
        CHECK_FALSE(read_parked_key(text));
}
