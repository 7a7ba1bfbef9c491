// Models may use parts of the standard library and the compiler that the engine does not replace. The engine
// either supports them, or the failure names them.
#include "toy.hpp"

#include <ekiden/check/checkable.hpp>
#include <ekiden/check/model.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>

using namespace ekiden;
using std::memory_order_relaxed;

using toy::fails_with;
using toy::passes;
using toy::run;

namespace {

/// Runs a model that hangs. It must fail in the same way when it is run again.
check::result hangs(void (*body)()) {
    const check::result r = run(body, {}, {.silence_ms = 100});
    CHECK(r.failed);
    CHECK(r.failure.find("has not called the checker") != std::string::npos);
    CHECK(r.failure.find("when run again") == std::string::npos);
    return r;
}

} // namespace

TEST_CASE(
    "a model that hangs in a std::mutex fails, and says which thread hangs and where it was last seen") {
    constexpr unsigned line = __LINE__ + 5;
    const check::result r = hangs([] {
        std::mutex forgotten; // should be checkable::mutex
        checkable::atomic<int> x{0};
        const auto enter = [&] {
            x.store(1);
            const std::lock_guard hold(forgotten);
            x.store(2);
        };
        checkable::thread other(enter);
        enter();
        other.join();
    });
    CAPTURE(r.failure);
    CHECK(r.failure.find("std::mutex") != std::string::npos);
    CHECK(r.table.find("standard_library_test.cpp:") != std::string::npos);
    CHECK(r.failure.find("standard_library_test.cpp:" + std::to_string(line)) != std::string::npos);
}

TEST_CASE("a model that hangs in std::call_once, or in a loop without the checker's atomics, fails") {
    hangs([] {
        std::once_flag once;
        checkable::atomic<int> x{0};
        const auto enter = [&] { std::call_once(once, [&] { x.store(1); }); };
        checkable::thread other(enter);
        enter();
        other.join();
    });
    hangs([] {
        std::atomic<int> forgotten{0}; // should be checkable::atomic
        checkable::thread other([&] { forgotten = 1; });
        while (forgotten == 0) (void)forgotten.load(memory_order_relaxed);
        other.join();
    });
}

TEST_CASE("the last owner of a std::shared_ptr destroys what others have used before they let go of it") {
    passes([] {
        struct shared {
            checkable::atomic<int> count{0};
            checkable::cell<int> written;
        };
        auto mine = std::make_shared<shared>();
        checkable::thread other([theirs = mine]() mutable {
            theirs->count.fetch_add(1, memory_order_relaxed);
            theirs.reset();
        });
        mine->count.fetch_add(1, memory_order_relaxed);
        mine.reset();
        other.join();
    });
}

TEST_CASE("each owner of a std::shared_ptr may be the last one, and one that uses it later is found") {
    const check::result r = run([] {
        struct shared {
            explicit shared(int& into) : last(into) {}
            ~shared() { last = static_cast<int>(checkable::this_thread::get_id().number()); }
            int& last;
        };
        int last = -1;
        auto mine = std::make_shared<shared>(last);
        checkable::thread other([theirs = mine]() mutable { theirs.reset(); });
        mine.reset();
        other.join();
        check::outcome({last});
    });
    CHECK(!r.failed);
    CHECK(r.found.outcomes == std::set<std::string>{"0", "1"});
    fails_with(
        [] {
            auto mine = std::make_shared<checkable::atomic<int>>(0);
            checkable::thread other([theirs = mine]() mutable {
                auto* const it = theirs.get();
                theirs.reset();
                it->store(1);
            });
            mine.reset();
            other.join();
        },
        "atomic object");
}

namespace {

struct settings {
    settings() { level.store(5, memory_order_relaxed); }
    checkable::atomic<int> level{0};
    std::unique_ptr<checkable::atomic<int>> far = std::make_unique<checkable::atomic<int>>(6);
};

settings& the_settings() {
    static settings only;
    return only;
}

} // namespace

TEST_CASE("a local static is made once, and each thread that passes its declaration sees what its "
          "constructor did") {
    passes([] {
        const auto use = [] {
            const settings& s = the_settings();
            check::that(s.level.load(memory_order_relaxed) == 5, "the constructor's store is seen");
            check::that(s.far->load(memory_order_relaxed) == 6, "what the constructor made is seen");
        };
        checkable::thread other(use);
        use();
        other.join();
    });
}

TEST_CASE("a local static orders nothing for a thread that does not pass its declaration") {
    fails_with(
        [] {
            checkable::atomic<settings*> made{nullptr};
            checkable::thread other([&] { made.store(&the_settings(), memory_order_relaxed); });
            if (settings* const s = made.load(memory_order_relaxed)) (void)s->far->load(memory_order_relaxed);
            other.join();
        },
        "its construction by T1 is not ordered before");
}

TEST_CASE("a local static whose constructor throws is made by the next thread") {
    passes([] {
        static int attempts = 0;
        const auto use = []() -> int {
            const auto make = [] {
                if (++attempts == 1) throw 1;
                return attempts;
            };
            static checkable::atomic<int> made{make()};
            return made.load(memory_order_relaxed);
        };
        int failures = 0;
        const auto attempt = [&] {
            try {
                check::that(use() == 2, "made by the second attempt");
            } catch (int) {
                ++failures;
            }
        };
        checkable::thread other(attempt);
        attempt();
        other.join();
        check::that(failures == 1, "one attempt failed");
    });
}
