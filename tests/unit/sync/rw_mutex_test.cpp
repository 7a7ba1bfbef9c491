#include "stress.hpp"

#include <ekiden/sync/detail/lock_access.hpp>
#include <ekiden/sync/rw_mutex.hpp>

#include <tests/unit/asleep.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <shared_mutex>
#include <stdexcept>

using namespace std::chrono_literals;
using ekiden::rw_mutex;
using ekiden::rw_policy;

#define ALL_POLICIES                                                                                         \
    rw_mutex<rw_policy::basic>, rw_mutex<rw_policy::writer_next>, rw_mutex<rw_policy::writer_first>,         \
        rw_mutex<rw_policy::fifo>

namespace {

/// What readers and writers touch, and whether they ever saw each other there.
struct guarded {
    long a = 0;
    long b = 0;
    std::atomic<int> readers{0};
    std::atomic<int> writers{0};
    std::atomic<bool> wrong{false};

    void write(stress::noise& noise) {
        if (writers.fetch_add(1) != 0 || readers != 0 || a != b) wrong = true;
        ++a;
        noise();
        ++b;
        writers.fetch_sub(1);
    }
    void read(stress::noise& noise) {
        readers.fetch_add(1);
        if (writers != 0 || a != b) wrong = true;
        noise();
        readers.fetch_sub(1);
    }
};

/// One of nine ways to take `m`; returns how often it wrote.
template <class M>
int visit(M& m, guarded& data, std::uint32_t way, stress::noise& noise) {
    const auto limit = std::chrono::microseconds(noise.below(100));
    const auto read_in = [&](auto&& lock) {
        if (lock.owns_lock()) data.read(noise);
        return 0;
    };
    const auto write_in = [&](auto&& lock) {
        if (!lock.owns_lock()) return 0;
        data.write(noise);
        return 1;
    };
    switch (way) {
    case 0:
        return write_in(std::unique_lock(m));
    case 1:
    case 2:
        return read_in(std::shared_lock(m));
    case 3:
        return write_in(std::unique_lock(m, limit));
    case 4:
        return read_in(std::shared_lock(m, limit));
    case 5:
        return write_in(std::unique_lock(m, std::try_to_lock));
    case 6:
        m.run([&] { data.write(noise); });
        return 1;
    case 7:
        m.lock();
        data.write(noise);
        m.downgrade();
        data.read(noise);
        m.unlock_shared();
        return 1;
    default:
        m.lock_shared();
        data.read(noise);
        if (noise.below(2) == 0 ? m.upgrade() : m.try_upgrade()) {
            data.write(noise);
            m.unlock();
            return 1;
        }
        m.unlock_shared();
        return 0;
    }
}

} // namespace

TEST_CASE_TEMPLATE("readers share, writers are alone, whatever else goes on", M, ALL_POLICIES) {
    M m;
    guarded data;
    std::atomic<long> written{0};
    stress::together(8, [&](int i, stress::noise& noise) {
        for (int r = 0; r < 2500; ++r) {
            written += visit(m, data, i < 2 ? static_cast<std::uint32_t>(i) : noise.below(9), noise);
            noise();
        }
    });
    CHECK_FALSE(data.wrong);
    CHECK(data.a == written);
    CHECK(data.b == written);
    CHECK(m.try_lock());
    m.unlock();
}

TEST_CASE_TEMPLATE("a waiting writer keeps new readers out, and a canceled one lets them in again", M,
                   ALL_POLICIES) {
    M m;
    m.lock_shared();
    CHECK(m.try_lock_shared());
    m.unlock_shared();
    std::stop_source stop;
    std::thread writer([&] { CHECK_FALSE(m.lock(ekiden::wait_limit(stop.get_token()))); });
    while (m.try_lock_shared()) {
        m.unlock_shared();
        std::this_thread::yield();
    }
    std::thread reader = ekiden_test::start_asleep([&] {
        m.lock_shared(); // until the writer gives up
        m.unlock_shared();
    });
    stop.request_stop();
    writer.join();
    reader.join();
    CHECK(m.try_lock_shared());
    m.unlock_shared();
    m.unlock_shared();
    CHECK(m.try_lock());
    m.unlock();
}

namespace {

/// With a writer inside, lets R(eaders), W(riters) and S(ections of run()) queue up in this order, and
/// returns in which order they got in.
template <class M>
std::string order_after_writer(const std::string& arrivals) {
    M m;
    std::mutex guard;
    std::string order;
    std::vector<std::thread> threads;
    m.lock();
    for (const char kind : arrivals) {
        threads.push_back(ekiden_test::start_asleep([&, kind] {
            if (kind == 'W') m.lock();
            if (kind == 'R') m.lock_shared();
            const auto section = [&] {
                const std::lock_guard lock(guard);
                order += kind;
            };
            if (kind == 'S')
                m.run(section);
            else
                section();
            std::this_thread::sleep_for(5ms);
            if (kind == 'W') m.unlock();
            if (kind == 'R') m.unlock_shared();
        }));
    }
    m.unlock();
    for (auto& t : threads) t.join();
    return order;
}

} // namespace

TEST_CASE("writer_first lets all waiting writers in before any reader") {
    CHECK(order_after_writer<rw_mutex<rw_policy::writer_first>>("RWRW") == "WWRR");
}

TEST_CASE("writer_first lets waiting readers in after so many writers in a row, and then writers again") {
    using m = rw_mutex<>;
    using rules = ekiden::rw_rules<m::policy>;
    constexpr auto waiting = rules::reader_enters | rules::writer_enters;
    const auto settled = [](ekiden::state_value now) {
        now.state = rules::settle(now, waiting);
        return now;
    };
    const auto is = [](ekiden::state_value now, ekiden::rw_state state) {
        return now.state == static_cast<std::uint32_t>(state);
    };
    ekiden::state_value now = settled(rules::value(ekiden::rw_state::free));
    for (std::uint32_t writers = 0; writers < rules::writers_in_turn; ++writers) {
        REQUIRE(is(now, ekiden::rw_state::writer_only));
        now = settled(
            rules::value(ekiden::rw_state::free, ekiden::detail::lock_access::begin_writing<m>(now).payload));
    }
    REQUIRE(is(now, ekiden::rw_state::reader_only));
    now = settled(ekiden::detail::lock_access::begin_reading<m>(now)); // one that waited; another still does
    CHECK(is(now, ekiden::rw_state::readers_turn));
    now = ekiden::detail::lock_access::begin_reading<m>(now);
    CHECK(now.payload == 2);
    now.state = rules::settle(now, rules::writer_enters);
    CHECK(is(now, ekiden::rw_state::drain));
    // Without waiting readers the writers go on, however many they were.
    now = rules::value(ekiden::rw_state::reader_only, rules::writers_in_turn);
    CHECK(rules::settle(now, rules::writer_enters)
          == static_cast<std::uint32_t>(ekiden::rw_state::writer_only));
    CHECK(rules::settle(now, 0) == static_cast<std::uint32_t>(ekiden::rw_state::free));
    CHECK(ekiden::detail::lock_access::begin_reading<m>(rules::value(ekiden::rw_state::free, 7)).payload
          == 1);
}

TEST_CASE("fifo keeps the order of arrival, and successive readers go together") {
    for (const char* const arrivals : {"RWRWRRW", "RSRWSRRSW", "WRS"})
        CHECK(order_after_writer<rw_mutex<rw_policy::fifo>>(arrivals) == arrivals);
    rw_mutex<rw_policy::fifo> m;
    m.lock();
    std::atomic<int> inside{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.push_back(ekiden_test::start_asleep([&] {
            std::shared_lock lock(m);
            ++inside;
            const auto deadline = std::chrono::steady_clock::now() + 20s;
            while (inside != 4 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
        }));
    }
    m.unlock();
    for (auto& t : threads) t.join();
    CHECK(inside == 4);
}

TEST_CASE("under fifo an upgrade does not wait for a writer that waits") {
    using lock = rw_mutex<rw_policy::fifo>;
    using rules = ekiden::rw_rules<lock::policy>;
    lock m;
    std::atomic<bool> inside{false};
    std::string order;
    std::thread reader([&] {
        m.lock_shared();
        inside = true;
        while (!ekiden::detail::lock_access::core(m).is_in(rules::any_of(ekiden::rw_state::upgrading)))
            std::this_thread::yield();
        m.unlock_shared();
    });
    while (!inside) std::this_thread::yield();
    m.lock_shared();
    std::thread writer = ekiden_test::start_asleep([&] { m.run([&] { order += 'W'; }); });
    CHECK(m.upgrade());
    order += 'U';
    m.unlock();
    reader.join();
    writer.join();
    CHECK(order == "UW");
}

TEST_CASE("after the last reader a waiting writer is next under writer_next") {
    rw_mutex<rw_policy::writer_next> m;
    m.lock_shared();
    std::string order;
    std::thread writer = ekiden_test::start_asleep([&] {
        std::unique_lock lock(m);
        order += 'W';
    });
    std::thread reader = ekiden_test::start_asleep([&] {
        std::shared_lock lock(m);
        order += 'R';
    });
    m.unlock_shared();
    writer.join();
    reader.join();
    CHECK(order == "WR");
}

TEST_CASE("of two readers that upgrade the second is told to step back") {
    rw_mutex<> m;
    m.lock_shared();
    std::atomic<bool> go{false};
    std::atomic<bool> inside{false};
    std::thread first([&] {
        m.lock_shared();
        inside = true;
        while (!go) std::this_thread::yield();
        REQUIRE(m.upgrade());
        m.unlock();
    });
    while (!inside) std::this_thread::yield();
    CHECK_FALSE(m.try_upgrade());
    go = true;
    while (m.try_lock_shared()) {
        m.unlock_shared();
        std::this_thread::yield();
    }
    CHECK_FALSE(m.upgrade());
    CHECK_FALSE(m.try_upgrade());
    m.unlock_shared();
    first.join();
    m.lock_shared();
    CHECK(m.try_upgrade());
    m.downgrade();
    m.unlock_shared();
}

#if !defined(EKIDEN_ANNOTATE_LOCKS) // ThreadSanitizer walks the list of a thread's locks at each of them
TEST_CASE("as many readers as the word counts may be inside, and one more waits") {
    rw_mutex<> m;
    for (unsigned i = 0; i < m.max_readers; ++i) m.lock_shared();
    CHECK_FALSE(m.try_lock_shared());
    CHECK_FALSE(m.try_lock_shared_for(2ms));
    std::thread one_more = ekiden_test::start_asleep([&] { std::shared_lock lock(m); });
    m.unlock_shared();
    one_more.join();
    CHECK(m.try_lock_shared());
    for (unsigned i = 0; i < m.max_readers; ++i) m.unlock_shared();
    CHECK(m.try_lock());
    m.unlock();
}
#endif

TEST_CASE("what a section of run throws reaches the caller, and the lock is free again") {
    rw_mutex<> m;
    CHECK_THROWS_AS(m.run([] { throw std::runtime_error("section"); }), std::runtime_error);
    CHECK(m.try_lock());
    m.unlock();
}

TEST_CASE("a stop request ends a wait") {
    rw_mutex<> m;
    m.lock();
    std::stop_source stop;
    std::thread reader =
        ekiden_test::start_asleep([&] { CHECK_FALSE(m.lock_shared(ekiden::wait_limit(stop.get_token()))); });
    std::thread writer =
        ekiden_test::start_asleep([&] { CHECK_FALSE(m.lock(ekiden::wait_limit(stop.get_token()))); });
    stop.request_stop();
    reader.join();
    writer.join();
    m.unlock();
    CHECK(m.try_lock());
    m.unlock();
}
