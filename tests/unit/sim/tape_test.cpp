// A tape can be written as text and read back. Invalid text is refused.
#include <ekiden/sim/detail/tape.hpp>

#include <doctest/doctest.h>

#include <stdexcept>

using namespace ekiden::sim;

TEST_CASE("a tape is what its text says") {
    tape made;
    made.faults = {fault::late_timer, fault::link_cut};
    made.of(stream::schedule) = {{3, 2}, {3, 0}, {3, 0}, {2, 1}};
    made.of(stream::data) = {{100, 42}};
    CHECK(made.weight() == 3);
    const std::string text = made.text();
    CHECK(text == "1;130;s2,0*2,1;d42");
    const tape read = tape::parse(text);
    CHECK(read.text() == text);
    CHECK(read.faults == made.faults);
    CHECK(read.of(stream::schedule).size() == 4);
    CHECK(read.of(stream::faults).empty());
}

TEST_CASE("what is dull at the end of a tape is not needed") {
    tape made;
    made.of(stream::schedule) = {{3, 0}, {3, 1}, {3, 0}, {3, 0}};
    made.of(stream::faults) = {{2, 0}};
    made.trim();
    CHECK(made.text() == "1;0;s0,1");
    made.of(stream::schedule).clear();
    CHECK(made.text() == "1;0");
}

TEST_CASE("what is no tape is refused") {
    for (const char* text : {"", "1", "2;0", "x", "1;", "1;0;", "1;0;q1", "1;0;s1,", "1;0;s1*", "1;0;s1 ",
                             "1;0;s99999999999", "1;0;s1*99999999"}) {
        CAPTURE(text);
        CHECK_THROWS_AS((void)tape::parse(text), std::invalid_argument);
    }
    CHECK(tape::parse("1;0;s").of(stream::schedule).empty());
}
