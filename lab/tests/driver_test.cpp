#include <lab/harness/driver.hpp>

#include <doctest/doctest.h>

namespace {

lab::experiment two_variants() {
    lab::experiment e;
    e.name = "e";
    e.variants = {
        {.name = "one"}, {.name = "two", .headline = "what to see"}, {.name = "long", .full_only = true}};
    return e;
}

std::vector<std::string> names(const lab::experiment& e, const lab::plan& how) {
    std::vector<std::string> all;
    for (const lab::variant& v : lab::variants_of(e, how)) all.push_back(v.name);
    return all;
}

} // namespace

TEST_CASE("the tour measures the headline of an experiment, at the quick size and unpinned") {
    const lab::plan how = lab::tour_plan();
    CHECK(names(two_variants(), how) == std::vector<std::string>{"two"});
    CHECK(how.scale == lab::scale::quick);
    CHECK_FALSE(how.pinned_too);
    CHECK(how.table_s > 0);
}

TEST_CASE("the tour measures the first variant of an experiment without a headline") {
    lab::experiment e = two_variants();
    e.variants[1].headline.clear();
    CHECK(names(e, lab::tour_plan()) == std::vector<std::string>{"one"});
}

TEST_CASE("a quick run measures all that is not too long, a full one all") {
    CHECK(names(two_variants(), lab::usual_plan(lab::scale::quick))
          == std::vector<std::string>{"one", "two"});
    CHECK(names(two_variants(), lab::usual_plan(lab::scale::full))
          == std::vector<std::string>{"one", "two", "long"});
}

TEST_CASE("a table compares the implementations that its variant names") {
    const auto nothing = [](lab::cell&) {};
    for (const char* name : {"test-one", "test-two"})
        lab::add(lab::implementation{.experiment = "test-only", .name = name, .run = nothing});
    lab::experiment e = two_variants();
    e.name = "test-only";
    e.one_round = true;
    const lab::plan how = lab::usual_plan(lab::scale::quick);
    CHECK(lab::count_processes(e, how) == 4);
    e.variants[1].only = {"test-two"};
    CHECK(lab::count_processes(e, how) == 3);
}
