// The names for a program's own lock-free code, in the checking build.
#include "toy.hpp"

#include <ekiden/check/checkable.hpp>
#include <ekiden/check/model.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

using namespace ekiden;
using namespace std::chrono_literals;

using toy::fails_with;
using toy::passes;
using toy::run;

namespace {

/// Two threads add to a number. `Locked` says whether they lock.
template <bool Locked>
void add_in_two_threads() {
    checkable::mutex guard;
    checkable::cell<int> number;
    const auto add = [&] {
        if (Locked) guard.lock();
        number.write(number.read() + 1);
        if (Locked) guard.unlock();
    };
    checkable::thread other(add);
    add();
    other.join();
    check::that(number.read() == 2, "both have added");
}

} // namespace

TEST_CASE("checkable: a mutex excludes and orders, without it there is a race") {
    passes(add_in_two_threads<true>);
    fails_with(add_in_two_threads<false>, "data race");
}

TEST_CASE("checkable: each outcome of two threads that lock is explored") {
    const auto body = [] {
        checkable::mutex guard;
        int order = 0;
        const auto enter = [&](int who) {
            const std::lock_guard hold(guard);
            order = 10 * order + who;
        };
        checkable::thread other(enter, 1);
        enter(2);
        other.join();
        check::outcome({order});
    };
    const check::result r = run(body, {.preemptions = 20});
    CHECK(r.found.outcomes == std::set<std::string>{"12", "21"});
    CHECK(r.unbounded);
}

TEST_CASE("checkable: two mutexes in opposite order deadlock") {
    fails_with(
        [] {
            std::array<checkable::mutex, 2> guard;
            checkable::thread other([&] {
                const std::lock_guard first(guard[1]);
                const std::lock_guard second(guard[0]);
            });
            {
                const std::lock_guard first(guard[0]);
                const std::lock_guard second(guard[1]);
            }
            other.join();
        },
        "deadlock");
}

TEST_CASE("checkable: misuse of a mutex is found") {
    fails_with(
        [] {
            checkable::mutex guard;
            guard.lock();
            guard.lock();
        },
        "locked twice");
    fails_with(
        [] {
            checkable::mutex guard;
            guard.lock();
            checkable::thread other([&] { guard.unlock(); });
            other.join();
        },
        "does not hold it");
    fails_with(
        [] {
            checkable::mutex guard;
            guard.lock();
        },
        "destroyed while");
}

TEST_CASE("checkable: try_lock takes a free mutex, and may fail") {
    const check::result r = run([] {
        checkable::mutex guard;
        checkable::thread other([&] {
            if (guard.try_lock()) guard.unlock();
        });
        const bool taken = guard.try_lock();
        if (taken) guard.unlock();
        other.join();
        check::outcome({taken});
    });
    CHECK(!r.failed);
    CHECK(r.found.outcomes == std::set<std::string>{"0", "1"});
}

namespace {

/// A thread waits for a number that another thread sets. `Loop`: it waits in a loop with a condition.
/// `Notify`: the other thread notifies.
template <bool Loop, bool Notify>
void wait_for_a_number() {
    checkable::mutex guard;
    checkable::condition_variable changed;
    int number = 0;
    checkable::thread other([&] {
        const std::lock_guard hold(guard);
        number = 1;
        if (Notify) changed.notify_one();
    });
    {
        std::unique_lock hold(guard);
        if (Loop)
            changed.wait(hold, [&] { return number == 1; });
        else if (number == 0)
            changed.wait(hold);
        check::that(number == 1, "the number is there after the wait");
    }
    other.join();
}

} // namespace

TEST_CASE("checkable: a condition variable wakes, also without cause") {
    passes(wait_for_a_number<true, true>);
    fails_with(wait_for_a_number<false, true>, "the number is there after the wait");
    fails_with(wait_for_a_number<true, false>, "lost wake-up");
}

TEST_CASE("checkable: a notification without the mutex between the look and the wait is lost") {
    fails_with(
        [] {
            checkable::mutex guard;
            checkable::condition_variable changed;
            checkable::atomic<int> number = 0;
            checkable::thread other([&] {
                number = 1; // wrong: the mutex must be held here
                changed.notify_one();
            });
            {
                std::unique_lock hold(guard);
                changed.wait(hold, [&] { return number == 1; });
            }
            other.join();
        },
        "lost wake-up");
}

namespace {

/// A mutex and a condition variable are destroyed after the wait. `Inside`: while the mutex is held.
template <bool Inside>
void end_after_a_wait() {
    struct places {
        checkable::mutex guard;
        checkable::condition_variable changed;
        bool ready = false;
    };
    auto both = std::make_unique<places>();
    checkable::thread other([&here = *both] {
        std::unique_lock hold(here.guard);
        here.ready = true;
        if (!Inside) hold.unlock();
        here.changed.notify_all();
    });
    {
        std::unique_lock hold(both->guard);
        both->changed.wait(hold, [&] { return both->ready; });
    }
    both.reset();
    other.join();
}

} // namespace

TEST_CASE("checkable: a condition variable must not end before the notification has begun") {
    passes(end_after_a_wait<true>);
    fails_with(end_after_a_wait<false>, "an access by T1 is not ordered before");
}

TEST_CASE("checkable: a condition variable may end when all that wait have been notified") {
    const auto body = [] {
        checkable::mutex guard;
        auto changed = std::make_unique<checkable::condition_variable>();
        bool waits = false;
        checkable::thread other([&] {
            std::unique_lock hold(guard);
            waits = true;
            changed->wait(hold);
        });
        while (changed != nullptr) {
            std::unique_lock hold(guard);
            if (waits) {
                changed->notify_all();
                changed.reset();
            }
            hold.unlock();
            checkable::this_thread::yield();
        }
        other.join();
    };
    const check::result r = run(body, {.spurious = 0});
    CAPTURE(r.failure);
    CHECK(!r.failed);
}

TEST_CASE("checkable: notify_one wakes one of two, and each of them may be the one") {
    const check::result r = run([] {
        checkable::mutex guard;
        checkable::condition_variable changed;
        int waiting = 0;
        int permits = 0;
        int first = 0;
        const auto wait = [&](int who) {
            std::unique_lock hold(guard);
            ++waiting;
            changed.wait(hold, [&] { return permits != 0; });
            --permits;
            if (first == 0) first = who;
        };
        checkable::thread one(wait, 1);
        checkable::thread two(wait, 2);
        for (int given = 0; given < 2; ++given) {
            const std::lock_guard hold(guard);
            ++permits;
            changed.notify_one();
        }
        one.join();
        two.join();
        check::outcome({first});
    });
    CAPTURE(r.failure);
    CHECK(!r.failed);
    CHECK(r.found.outcomes == std::set<std::string>{"1", "2"});
}

TEST_CASE("checkable: a wait with a limit ends, notified or not") {
    const check::result r = run([] {
        checkable::mutex guard;
        checkable::condition_variable changed;
        bool ready = false;
        checkable::thread other([&] {
            const std::lock_guard hold(guard);
            ready = true;
            changed.notify_all();
        });
        {
            std::unique_lock hold(guard);
            check::outcome({changed.wait_for(hold, 10ms, [&] { return ready; })});
        }
        other.join();
        std::unique_lock hold(guard);
        check::that(changed.wait_until(hold, checkable::steady_clock::now()) == std::cv_status::timeout,
                    "the time has come");
    });
    CAPTURE(r.failure);
    CHECK(!r.failed);
    CHECK(r.found.outcomes == std::set<std::string>{"0", "1"});
}

TEST_CASE("checkable: operators of atomics do what the standard library's do") {
    passes([] {
        checkable::atomic<int> number = 5;
        check::that(++number == 6 && number++ == 6 && --number == 6 && number-- == 6 && number == 5,
                    "++ and --");
        check::that((number = 9) == 9 && (number += 3) == 12 && (number -= 2) == 10, "=, += and -=");
        check::that((number &= 6) == 2 && (number |= 5) == 7 && (number ^= 2) == 5, "&=, |= and ^=");
        std::array<int, 4> row{};
        checkable::atomic<int*> place{row.data()};
        check::that(place++ == row.data() && (place += 2) == &row[3] && --place == &row[2], "pointers");
        place = nullptr;
        check::that(place == nullptr, "no pointer");
        checkable::atomic<unsigned char> small{250};
        check::that((small += 10) == 4, "a small number wraps around");
        checkable::atomic_flag flag;
        check::that(!flag.test_and_set() && flag.test() && flag.test_and_set(), "a flag");
        flag.clear();
        check::that(!flag.test(), "a flag that is cleared");
    });
    fails_with(
        [] {
            checkable::atomic<int> count{0};
            checkable::thread other([&] { count = count + 1; });
            count = count + 1;
            other.join();
            check::that(count == 2, "nothing is lost");
        },
        "nothing is lost");
}

TEST_CASE("checkable: atomics of floating-point numbers add and subtract in one step") {
    passes([] {
        checkable::atomic<float> sum{0.5F};
        checkable::thread other([&] { sum += 1.25F; });
        sum += 2;
        other.join();
        check::that(sum == 3.75F && (sum -= 0.75F) == 3.0F, "a float");
        checkable::atomic<double> wide{1.0};
        check::that(wide.fetch_add(0.5) == 1.0 && wide.fetch_sub(0.25) == 1.5 && wide == 1.25, "a double");
    });
}

TEST_CASE("checkable: volatile atomics and flags, and ATOMIC_FLAG_INIT") {
    passes([] {
        volatile checkable::atomic<int> number{1};
        check::that(number.load() == 1 && (number = 4) == 4 && number++ == 4 && (number += 2) == 7,
                    "operators");
        int expected = 7;
        check::that(number.compare_exchange_strong(expected, 8) && number.exchange(9) == 8 && number == 9,
                    "exchange");
        number.notify_all();
        static volatile checkable::atomic_flag kept = ATOMIC_FLAG_INIT;
        checkable::atomic_flag flag = ATOMIC_FLAG_INIT;
        check::that(!kept.test_and_set() && kept.test() && !flag.test(), "flags");
        kept.clear();
    });
}

namespace {

/// Three threads set a number once. `Once`: they use call_once.
template <bool Once>
void set_once() {
    checkable::once_flag once;
    checkable::cell<int> number;
    int attempts = 0;
    const auto set = [&](int value) {
        if (++attempts == 1) throw value;
        number.write(value);
    };
    const auto use = [&] {
        try {
            if (Once)
                checkable::call_once(once, set, 3);
            else
                set(3);
            check::that(number.read() == 3, "it is set after the call");
        } catch (int) {
        }
    };
    checkable::thread one(use);
    checkable::thread two(use);
    use();
    one.join();
    two.join();
    check::that(attempts == 2, "one call has thrown, one has set the number");
}

} // namespace

TEST_CASE("checkable: call_once calls until a call returns, and orders that before all later calls") {
    passes(set_once<true>);
    fails_with(set_once<false>, "data race");
}

TEST_CASE("checkable: identifiers of threads have a hash, and threads sleep until a moment") {
    passes([] {
        const auto me = checkable::this_thread::get_id();
        std::unordered_set<checkable::thread::id> known{me};
        checkable::thread other([&] { known.insert(checkable::this_thread::get_id()); });
        other.join();
        check::that(known.size() == 2 && known.contains(me), "two identifiers");
        checkable::this_thread::sleep_until(checkable::steady_clock::now() + 1ms);
    });
}

namespace {

/// The three padding bytes do not belong to a member.
struct padded {
    char letter;
    int number;
};

padded made_on_dirty_memory(unsigned char dirt, padded value) {
    padded made; // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::memset(static_cast<void*>(&made), dirt, sizeof made);
    made.letter = value.letter;
    made.number = value.number;
    return made;
}

} // namespace

TEST_CASE("checkable: compare_exchange does not compare padding") {
    passes([] {
        const padded first = made_on_dirty_memory(0xAA, {'a', 1});
        padded expected = made_on_dirty_memory(0x55, {'a', 1});
        checkable::atomic<padded> place{first};
        check::that(place.compare_exchange_strong(expected, {'b', 2}), "equal but for the padding");
        check::that(place.load().letter == 'b' && place.load().number == 2, "exchanged");
    });
}

TEST_CASE("checkable: a model with a mutant of its own must fail") {
    const auto body = [] {
        checkable::atomic<int> number{0};
        if (!EKIDEN_MUTANT(checkable_test_forget)) number = 1;
        check::that(number == 1, "it was set");
    };
    CHECK(!run(body).failed);
    CHECK(run(body, {.mutant = "checkable_test_forget"}).failed);
}
