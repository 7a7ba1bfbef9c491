// A loop with a source of events: how many it lets the source run.
#include <ekiden/execution/detail/event_source.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/loop/loop_context.hpp>

#include <cstddef>
#include <doctest/doctest.h>
#include <limits>
#include <vector>

namespace {

/// Has no events, and stops the loop that would wait for some.
class idle_source final : public ekiden::execution_context::service, public ekiden::event_source {
public:
    explicit idle_source(ekiden::execution_context& owner) : service(owner) {
        REQUIRE(may_bring_events(&kind));
    }
    std::vector<std::size_t> asked; // how many it might have run, each time

    std::size_t run(std::size_t most, ekiden::event_wait* wait) override {
        if (wait == nullptr) return 0; // between two tasks
        asked.push_back(most);
        static_cast<ekiden::loop_context&>(context()).stop();
        return 0;
    }
    void interrupt() noexcept override {}

private:
    void added() noexcept override { bring_events(*this); }

    static constexpr char kind = 0; // has an address
};

} // namespace

TEST_CASE("a source of events may run all of them, also in a loop that has run tasks before") {
    ekiden::loop_context loop(1);
    const auto& source = use_service<idle_source>(loop);
    for (int i = 0; i != 3; ++i) ekiden::post(loop, [] {});
    CHECK(loop.run() == 3);
    CHECK(source.asked == std::vector{std::numeric_limits<std::size_t>::max()});
}

TEST_CASE("a source of events may run as many as are left of what the caller wants") {
    ekiden::loop_context loop(1);
    const auto& source = use_service<idle_source>(loop);
    CHECK(loop.run_one() == 0);
    CHECK(source.asked == std::vector<std::size_t>{1});
}
