#include <ekiden/sys/parker.hpp>

#include <tests/unit/effort.hpp>
#include <tests/unit/signal_storm.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <thread>

namespace sys = ekiden::sys;
using namespace std::chrono_literals;

namespace {

/// While this object exists, wakes the threads that sleep on a parker, without a token.
class spurious_wakes {
public:
    explicit spurious_wakes(sys::parker& at) {
        static_assert(sizeof(sys::parker) == sizeof(sys::atomic<std::uint32_t>), "the word alone");
        waker_ = std::thread([this, &word = reinterpret_cast<sys::atomic<std::uint32_t>&>(at)] {
            while (!over_.load(sys::relaxed)) sys::futex_wake_all(word);
        });
    }
    ~spurious_wakes() {
        over_.store(true, sys::relaxed);
        waker_.join();
    }

private:
    sys::atomic<bool> over_{false};
    std::thread waker_;
};

} // namespace

TEST_CASE("A token that was left before the park is not lost") {
    sys::parker here;
    here.unpark();
    here.park();
    here.unpark();
    CHECK(here.park_until(sys::clock::now()));
}

TEST_CASE("Tokens of a parker do not add up") {
    sys::parker here;
    here.unpark();
    here.unpark();
    here.park();
    CHECK_FALSE(here.park_until(sys::clock::now()));
}

TEST_CASE("A parker takes a token although the deadline has passed") {
    sys::parker here;
    here.unpark();
    CHECK(here.park_until(sys::clock::time_point::min()));
    CHECK_FALSE(here.park_until(sys::clock::time_point::min()));
}

TEST_CASE("A timed park ends at its deadline and leaves the parker usable") {
    sys::parker here;
    for (int i = 0; i != 3; ++i) {
        const auto deadline = sys::clock::now() + 5ms;
        CHECK_FALSE(here.park_until(deadline));
        CHECK(sys::clock::now() >= deadline);
    }
    here.unpark();
    CHECK(here.park_until(sys::clock::now() + 1h));
}

TEST_CASE("A park wakes up for the token and sees what was done before it") {
    sys::parker here;
    int written = 0;
    std::thread other([&] {
        std::this_thread::sleep_for(5ms);
        written = 42;
        here.unpark();
    });
    here.park();
    CHECK(written == 42);
    other.join();
}

TEST_CASE("A storm of signals neither ends a park nor shortens a timed one") {
    EKIDEN_SKIP_ON_WINDOWS("there are no signals");
    sys::parker here;
    ekiden_test::signal_storm storm;
    while (storm.sent() == 0) std::this_thread::yield();
    const auto deadline = sys::clock::now() + 30ms;
    CHECK_FALSE(here.park_until(deadline));
    CHECK(sys::clock::now() >= deadline);
    bool left = false;
    std::thread other([&] {
        std::this_thread::sleep_for(20ms);
        left = true;
        here.unpark();
    });
    here.park();
    CHECK(left);
    other.join();
}

TEST_CASE("Spurious wake-ups neither end a park nor shorten a timed one") {
    sys::parker here;
    spurious_wakes storm(here);
    const auto deadline = sys::clock::now() + 20ms;
    CHECK_FALSE(here.park_until(deadline));
    CHECK(sys::clock::now() >= deadline);
    bool left = false;
    std::thread other([&] {
        std::this_thread::sleep_for(10ms);
        left = true;
        here.unpark();
    });
    here.park();
    CHECK(left);
    other.join();
}

TEST_CASE("A token that comes when a timed park gives up is found by the next park") {
    constexpr int rounds = 3000;
    sys::parker ping;
    sys::parker pong;
    std::thread other([&] {
        for (int i = 0; i != rounds; ++i) {
            pong.park();
            for (int spin = i % 64; spin != 0; --spin) sys::spin_hint();
            ping.unpark();
        }
    });
    for (int i = 0; i != rounds; ++i) {
        pong.unpark();
        // If a token were lost, the last park would sleep forever.
        if (!ping.park_until(sys::clock::now() + std::chrono::microseconds(i % 16))) ping.park();
    }
    other.join();
    CHECK_FALSE(ping.park_until(sys::clock::now()));
}

TEST_CASE("A token that comes while parks give up at once is found by one of them") {
    const int rounds = ekiden_test::rounds(20'000);
    sys::parker here;
    sys::atomic<int> asked{0};
    sys::atomic<int> answered{0};
    sys::atomic<bool> over{false};
    std::thread other([&] {
        for (int last = 0; !over.load(sys::relaxed);) {
            if (asked.load(sys::acquire) == last) continue;
            for (int spin = last % 16; spin != 0; --spin) sys::spin_hint();
            here.unpark();
            answered.store(++last, sys::release);
        }
    });
    int lost = 0;
    for (int i = 1; i <= rounds && lost == 0; ++i) {
        asked.store(i, sys::release);
        bool is_there = false;
        // Gives up immediately, so that most of the time is spent in giving up.
        while (!here.park_until(sys::clock::time_point::min())) {
            if (is_there) {
                ++lost;
                break;
            }
            is_there = answered.load(sys::acquire) == i;
        }
    }
    over.store(true, sys::relaxed);
    other.join();
    CHECK(lost == 0);
}

TEST_CASE("A parker may be destroyed as soon as its park has returned") {
    for (int i = 0; i != 300; ++i) {
        auto here = std::make_unique<sys::parker>();
        std::thread other([p = here.get()] { p->unpark(); });
        here->park();
        here.reset();
        other.join();
    }
}
