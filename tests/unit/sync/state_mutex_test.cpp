#include "stress.hpp"

#include <ekiden/sync/detail/lock_access.hpp>
#include <ekiden/sync/state_diagram.hpp>
#include <ekiden/sync/state_mutex.hpp>

#include <doctest/doctest.h>

#include <deque>
#include <stdexcept>

using namespace std::chrono_literals;
using ekiden::state_mutex;
using ekiden::state_table;

namespace {

enum class slot { empty, some, full };
enum class slot_op { put, get };

constexpr auto buffer_table = ekiden::make_state_table<slot, slot_op>(
    slot::empty, {{slot_op::put, {slot::empty, slot::some}, {slot::some, slot::full}},
                  {slot_op::get, {slot::some, slot::full}, {slot::some, slot::empty}}});

/// A bounded buffer for any mutex with the operations of buffer_table: the parent, written without a thought
/// of being refined.
template <class Mutex>
class slot_buffer {
public:
    template <class... Args>
    explicit slot_buffer(std::size_t capacity, Args&&... args)
        : mutex_(std::forward<Args>(args)...), capacity_(capacity) {}

    void put(int x) {
        auto inside = mutex_.template enter<slot_op::put>();
        items_.push_back(x);
        inside.leave(items_.size() == capacity_ ? slot::full : slot::some);
    }
    int get() {
        int x = 0;
        mutex_.template run<slot_op::get>([&](auto) {
            x = items_.front();
            items_.pop_front();
            return items_.empty() ? slot::empty : slot::some;
        });
        return x;
    }

protected:
    Mutex mutex_;
    std::deque<int> items_;
    std::size_t capacity_;
};

// The refined one tells apart whether the buffer has passed its high mark and not yet come down to its low
// one.
enum class mark { empty, filling, draining, full };
enum class mark_op { put_below_mark, wait_for_room };

constexpr auto marked_table = ekiden::make_refined_table<buffer_table, mark, mark_op>(
    mark::empty,
    {{slot::empty, mark::empty}, {slot::some, {mark::filling, mark::draining}}, {slot::full, mark::full}},
    {{mark_op::put_below_mark, {mark::empty, mark::filling}, {mark::filling, mark::draining, mark::full}},
     {mark_op::wait_for_room, {mark::empty, mark::filling}, {mark::empty, mark::filling}}});

/// Which part of `some` holds: draining from the high mark down to the low one.
struct classify {
    const std::deque<int>* items;
    bool* draining;
    std::size_t low;
    std::size_t high;

    mark operator()(slot whole) const noexcept {
        if (whole == slot::empty || items->size() <= low) *draining = false;
        if (whole == slot::full || items->size() >= high) *draining = true;
        if (whole == slot::empty) return mark::empty;
        if (whole == slot::full) return mark::full;
        return *draining ? mark::draining : mark::filling;
    }
};

class marked_buffer : public slot_buffer<state_mutex<marked_table, classify>> {
public:
    marked_buffer(std::size_t capacity, std::size_t low, std::size_t high)
        : slot_buffer(capacity, classify{&items_, &draining_, low, high}),
          classify_{&items_, &draining_, low, high} {}

    /// As put, but waits from the high mark on until the low one.
    void put_below_mark(int x) {
        auto inside = mutex_.template enter<mark_op::put_below_mark>();
        items_.push_back(x);
        inside.leave(classify_(items_.size() == capacity_ ? slot::full : slot::some));
    }
    bool has_room(std::chrono::milliseconds wait) {
        auto inside = mutex_.template enter_for<mark_op::wait_for_room>(wait);
        if (!inside) return false;
        inside->leave(inside->entered_in());
        return true;
    }

private:
    bool draining_ = false;
    classify classify_;
};

} // namespace

TEST_CASE("a guard enters by operation and leaves with a state of the table") {
    state_mutex<buffer_table> m;
    CHECK_FALSE(m.try_enter<slot_op::get>());
    {
        auto inside = m.enter<slot_op::put>();
        CHECK(inside.entered_in() == slot::empty);
        CHECK_FALSE(m.try_enter<slot_op::put>());
        inside.leave<slot::some>();
    }
    auto inside = m.try_enter<slot_op::get>();
    REQUIRE(inside);
    CHECK(inside->entered_in() == slot::some);
    inside->leave<slot::empty>();
    CHECK_FALSE(m.try_enter<slot_op::get>());
}

TEST_CASE("timed and stoppable entries give nothing when they end early") {
    state_mutex<buffer_table> m;
    CHECK_FALSE(m.enter_for<slot_op::get>(2ms));
    CHECK_FALSE(m.enter_until<slot_op::get>(std::chrono::steady_clock::now() + 2ms));
    std::stop_source stop;
    stop.request_stop();
    CHECK_FALSE(m.enter<slot_op::get>(stop.get_token()));
    CHECK_FALSE(m.run<slot_op::get>(ekiden::wait_limit::after(2ms), [](slot s) { return s; }));
    auto inside = m.enter_for<slot_op::put>(1h);
    REQUIRE(inside);
    inside->leave(slot::full);
}

TEST_CASE("an exception leaves with the state that was asked for, or with the one before") {
    state_mutex<buffer_table> m;
    const auto fail = [&](auto guard) {
        auto inside = std::move(guard);
        throw std::runtime_error("inside");
    };
    CHECK_THROWS(fail(m.enter<slot_op::put>()));
    CHECK(ekiden::detail::lock_access::core(m).passes(
        (ekiden::detail::lock_access::entry<decltype(m), slot_op::put>())));
    CHECK_FALSE(m.try_enter<slot_op::get>());
    CHECK_THROWS(fail(m.enter<slot_op::put, slot::full>()));
    CHECK_FALSE(m.try_enter<slot_op::put>());
    CHECK_THROWS(m.run<slot_op::get>([](slot) -> slot { throw std::runtime_error("inside"); }));
    CHECK_FALSE(m.try_enter<slot_op::put>());
    m.run<slot_op::get>([](slot before) {
        CHECK(before == slot::full);
        return slot::empty;
    });
    CHECK_FALSE(m.try_enter<slot_op::get>());
}

TEST_CASE("a buffer written with a table passes every item once") {
    slot_buffer<state_mutex<buffer_table>> buffer(3);
    std::atomic<long> sum{0};
    constexpr int items = 5000;
    stress::together(6, [&](int i, stress::noise& noise) {
        for (int k = 0; k < items; ++k) {
            if (i < 3)
                buffer.put(k);
            else
                sum += buffer.get();
            noise();
        }
    });
    CHECK(sum == 3L * items * (items - 1) / 2);
}

TEST_CASE("a refined table keeps the parent's operations working and adds some that see the parts") {
    marked_buffer buffer(8, 2, 6);
    for (int i = 0; i < 5; ++i) buffer.put_below_mark(i);
    CHECK(buffer.has_room(0ms));
    buffer.put(5); // inherited: reaches the high mark
    CHECK_FALSE(buffer.has_room(1ms));
    buffer.put(6); // inherited: does not mind the mark
    for (int i = 0; i < 4; ++i) CHECK(buffer.get() == i);
    CHECK_FALSE(buffer.has_room(1ms)); // 3 left: still draining
    CHECK(buffer.get() == 4);
    CHECK(buffer.has_room(0ms));
}

TEST_CASE("old and new operations of a refined buffer work together under load") {
    marked_buffer buffer(6, 1, 5);
    std::atomic<long> sum{0};
    constexpr int items = 4000;
    stress::together(6, [&](int i, stress::noise& noise) {
        for (int k = 0; k < items; ++k) {
            if (i < 2)
                buffer.put_below_mark(k);
            else if (i == 2)
                buffer.put(k);
            else
                sum += buffer.get();
            noise();
        }
    });
    CHECK(sum == 3L * items * (items - 1) / 2);
}

TEST_CASE("tables are checked: parts, reachability, dead ends") {
    static_assert(marked_table.has_exact_splits());
    static_assert(marked_table.whole_of(mark::draining) == slot::some);
    static_assert(marked_table.from(slot_op::get).bits
                  == ekiden::states{mark::filling, mark::draining, mark::full}.bits);
    static_assert(ekiden::enumerator_count<slot>() == 3);
    static_assert(ekiden::enumerator_name<slot::some>() == "some");
    static_assert(!ekiden::is_fully_reachable(
        state_table<slot, slot_op, 1>{slot::empty, {{slot_op::put, slot::empty, slot::some}}}));
    static_assert(!ekiden::has_no_dead_end(
        state_table<slot, slot_op, 1>{slot::empty, {{slot_op::put, slot::empty, slot::some}}}));
    static_assert(ekiden::has_no_dead_end(state_table<slot, slot_op, 1>{
        slot::empty, {{slot_op::put, slot::empty, slot::some}}, {slot::some, slot::full}}));
    constexpr auto halves = ekiden::make_refined_table<buffer_table, mark>(
        mark::empty, {{slot::empty, mark::empty},
                      {slot::some, {mark::filling, mark::draining}},
                      {slot::full, mark::full}});
    static_assert(halves.has_exact_splits() && ekiden::is_fully_reachable(halves));
    static_assert(ekiden::has_no_dead_end(halves));
    CHECK(ekiden::enumerator_name(slot::full) == "full");
    CHECK(ekiden::enumerator_name(static_cast<slot>(9)).empty());
}

TEST_CASE("a table prints as a Graphviz diagram") {
    CHECK(ekiden::state_diagram(buffer_table, "buffer") == R"(digraph "buffer" {
  empty [peripheries=2];
  some;
  full;
  empty -> some [label="put"];
  empty -> full [label="put"];
  some -> empty [label="get"];
  some -> some [label="put, get"];
  some -> full [label="put"];
  full -> empty [label="get"];
  full -> some [label="get"];
}
)");
    const std::string refined = ekiden::state_diagram(marked_table);
    CHECK(refined.find("filling -> draining [label=\"put, get, put_below_mark\"]") != std::string::npos);
    CHECK(refined.find("draining -> full [label=\"put\"]") != std::string::npos);
}
