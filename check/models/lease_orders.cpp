// ring_lease alone: what each of its orders carries. A task's taker sees what was done before each earlier
// take of the lease; and one that finds the lease used up, before all of them.
#include <check/engine/model.hpp>
#include <ekiden/queue/ring_lease.hpp>
#include <ekiden/sys/thread.hpp>

#include <array>
#include <cstddef>

namespace {

using namespace ekiden;

struct item : task {
    item() : task(&answer) {}
    static const char* answer(task*, task_request) { return nullptr; }
};

/// A lease that has begun, and what was done before its first task was taken.
template <std::size_t Count>
struct begun_lease {
    static constexpr int none = -1;

    begun_lease() {
        for (std::size_t i = 0; i != Count; ++i) where.at(i).store(&tasks[i], sys::relaxed);
        lease.begin(which, Count, &where);
    }

    circular_array<task>::slots where{4};
    std::array<item, Count> tasks{};
    ring_lease::key which{0, Count};
    ring_lease lease;
    sys::cell<int> note{0};

    [[nodiscard]] int number(const task* got) const {
        return got == nullptr ? none : static_cast<int>(static_cast<const item*>(got) - tasks.data());
    }
    /// Holder.
    void write_and_take(int count) {
        note.write(1);
        for (; count != 0; --count) (void)lease.take();
    }
    /// The others.
    [[nodiscard]] int steal() { return lease.share(which) ? number(lease.take_shared(which, where)) : none; }
    void read_note() { check::that(note.read() == 1, "it was written before the first task was taken"); }
};

} // namespace

EKIDEN_MODEL(lease_thief_follows_holder, .about = "a thief sees what the holder did before its takes",
             .preemptions = 4) {
    begun_lease<2> all;
    sys::thread thief([&] {
        if (all.steal() == 1) all.read_note(); // the holder has taken the first
    });
    all.write_and_take(2);
    thief.join();
}

EKIDEN_MODEL(lease_second_thief_follows_holder,
             .about = "one thief or the holder says how far it is, and another thief takes the next task",
             .preemptions = 3) {
    begun_lease<2> all;
    sys::thread first([&] { (void)all.lease.share(all.which); });
    sys::thread second([&] {
        if (all.steal() == 1) all.read_note();
    });
    all.write_and_take(2);
    first.join();
    second.join();
}

EKIDEN_MODEL(lease_holder_follows_thief, .about = "the holder sees what a thief did before its take",
             .preemptions = 4) {
    begun_lease<3> all;
    sys::thread thief([&] {
        all.note.write(1);
        (void)all.steal();
    });
    const int first = all.number(all.lease.take());
    const int second = all.number(all.lease.take());
    if (first == 1 || second == first + 2) all.read_note(); // the thief has taken the one before
    thief.join();
}

EKIDEN_MODEL(lease_end_is_passed_on,
             .about = "one thread finds the lease used up, and another one relies on what it has said",
             .preemptions = 3) {
    begun_lease<1> all;
    sys::thread first([&] { (void)all.lease.is_used_up(all.which); });
    sys::thread second([&] {
        if (all.lease.is_used_up(all.which)) all.read_note();
    });
    all.write_and_take(1);
    first.join();
    second.join();
}

EKIDEN_MODEL(lease_end_follows_thief,
             .about = "a thread that finds the lease used up sees what a thief did before it took the last",
             .preemptions = 3) {
    begun_lease<1> all;
    sys::thread thief([&] {
        all.note.write(1);
        (void)all.steal();
    });
    if (all.lease.is_used_up(all.which)) all.read_note();
    thief.join();
}
