// A defective engine must be noticed. Toy programs with one known fault each must fail and name the reason.
#include "toy.hpp"

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/parker.hpp>
#include <ekiden/sys/thread.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

using namespace ekiden::sys;
namespace check = ekiden::check;

using toy::fails_with;
using toy::passes;
using toy::run;

namespace {

int* volatile kept; // prevents the compiler from removing an allocation

struct message_box {
    cell<int> data{0};
    atomic<bool> ready{false};
};

template <memory_order Release, memory_order Acquire>
void pass_a_message() {
    message_box box;
    thread writer([&] {
        box.data.write(7);
        box.ready.store(true, Release);
    });
    if (box.ready.load(Acquire)) check::that(box.data.read() == 7, "the message arrives");
    writer.join();
}

} // namespace

TEST_CASE("a release store and an acquire load order plain data") {
    passes(pass_a_message<release, acquire>);
}

TEST_CASE("a relaxed store does not publish plain data") {
    fails_with(pass_a_message<relaxed, acquire>, "data race");
}

TEST_CASE("a relaxed load does not acquire plain data") {
    fails_with(pass_a_message<release, relaxed>, "data race");
}

TEST_CASE("two unordered writes are a race") {
    fails_with(
        [] {
            cell<int> shared_cell;
            thread other([&] { shared_cell.write(1); });
            shared_cell.write(2);
            other.join();
        },
        "data race: write");
}

TEST_CASE("an atomic object in memory that was published without release is a race") {
    fails_with(
        [] {
            struct node {
                atomic<int> value{5};
            };
            atomic<node*> head{nullptr};
            thread maker([&] { head.store(new node, relaxed); });
            if (node* n = head.load(acquire)) (void)n->value.load(relaxed);
            maker.join();
            delete head.load(relaxed);
        },
        "its construction by T1 is not ordered before");
}

TEST_CASE("an access to freed memory is found") {
    fails_with(
        [] {
            auto* flag = new atomic<int>(0);
            thread user([=] { flag->store(1, relaxed); });
            delete flag;
            user.join();
        },
        "atomic object");
}

TEST_CASE("destruction that an access of another thread is not ordered before is found") {
    fails_with(
        [] {
            auto count = std::make_unique<atomic<int>>(2);
            const auto drop = [&count = *count](std::unique_ptr<atomic<int>>& owner) {
                if (count.fetch_sub(1, relaxed) == 1) owner.reset(); // wrong: it should be acq_rel
            };
            thread other([&] { drop(count); });
            drop(count);
            other.join();
        },
        "destroyed");
}

TEST_CASE("reference counting with acq_rel passes") {
    passes([] {
        auto count = std::make_unique<atomic<int>>(2);
        const auto drop = [&count = *count](std::unique_ptr<atomic<int>>& owner) {
            if (count.fetch_sub(1, acq_rel) == 1) owner.reset();
        };
        thread other([&] { drop(count); });
        drop(count);
        other.join();
    });
}

TEST_CASE("a block that is never freed is a leak") {
    fails_with(
        [] {
            kept = new int(1);
            kept = nullptr;
        },
        "leak: a block");
}

TEST_CASE("a block that static storage leads to is no leak") {
    passes([] { kept = new int(1); });
}

TEST_CASE("memory freed twice is found") {
    fails_with(
        [] {
            kept = new int(1);
            delete kept;
            delete kept;
        },
        "freed twice");
}

TEST_CASE("two locks in opposite order deadlock") {
    fails_with(
        [] {
            atomic<std::uint32_t> first{0};
            atomic<std::uint32_t> second{0};
            const auto lock = [](atomic<std::uint32_t>& word) {
                while (word.exchange(1, acquire) != 0) futex_wait(word, 1);
            };
            const auto unlock = [](atomic<std::uint32_t>& word) {
                word.store(0, release);
                (void)futex_wake(word);
            };
            thread other([&] {
                lock(second);
                lock(first);
                unlock(first);
                unlock(second);
            });
            lock(first);
            lock(second);
            unlock(second);
            unlock(first);
            other.join();
        },
        "deadlock or lost wake-up");
}

TEST_CASE("a store without a wake-up is a lost wake-up") {
    fails_with(
        [] {
            atomic<std::uint32_t> word{0};
            thread sleeper([&] {
                while (word.load(acquire) == 0) futex_wait(word, 0);
            });
            word.store(1, release);
            sleeper.join();
        },
        "deadlock or lost wake-up");
}

TEST_CASE("a wait without a loop is found through a spurious wake-up") {
    fails_with(
        [] {
            atomic<std::uint32_t> word{0};
            thread sleeper([&] {
                if (word.load(acquire) == 0) futex_wait(word, 0);
                check::that(word.load(acquire) == 1, "woken when it is 1");
            });
            word.store(1, release);
            (void)futex_wake(word);
            sleeper.join();
        },
        "woken when it is 1");
}

TEST_CASE("a spin on a flag that nobody sets is a livelock") {
    fails_with(
        [] {
            atomic<int> flag{0};
            thread spinner([&] {
                while (flag.load(acquire) == 0) spin_hint();
            });
            spinner.join();
        },
        "livelock");
}

TEST_CASE("a spin on a flag that is set late ends") {
    passes([] {
        atomic<int> flag{0};
        thread spinner([&] {
            while (flag.load(acquire) == 0) spin_hint();
        });
        flag.store(1, release);
        spinner.join();
    });
}

TEST_CASE("two threads that spin for each other are a livelock") {
    fails_with(
        [] {
            atomic<int> x{0};
            atomic<int> y{0};
            thread other([&] {
                while (x.load(acquire) == 0) yield();
                y.store(1, release);
            });
            while (y.load(acquire) == 0) yield();
            x.store(1, release);
            other.join();
        },
        "livelock");
}

TEST_CASE("a lost update between a load and a store is found") {
    fails_with(
        [] {
            atomic<int> count{0};
            thread other([&] { count.store(count.load(relaxed) + 1, relaxed); });
            count.store(count.load(relaxed) + 1, relaxed);
            other.join();
            check::that(count.load(relaxed) == 2, "both increments count");
        },
        "both increments count");
}

namespace {

template <memory_order Give>
void give_back_a_slot() {
    atomic<int> slot{1};
    atomic<bool> free{false};
    thread reader([&] {
        (void)slot.load(relaxed);
        free.store(true, Give);
    });
    if (free.load(acquire)) slot.store(2, relaxed);
    reader.join();
}

} // namespace

namespace {

template <memory_order Give>
void reuse_memory() {
    alignas(atomic<int>) unsigned char memory[sizeof(atomic<int>)];
    auto* const first = ::new (static_cast<void*>(memory)) atomic<int>(1);
    atomic<bool> free{false};
    thread other([&] {
        first->~atomic();
        free.store(true, Give);
    });
    if (free.load(acquire)) ::new (static_cast<void*>(memory)) atomic<int>(2);
    other.join();
}

} // namespace

TEST_CASE("memory that is used again before its former object's end is ordered is found") {
    fails_with(reuse_memory<relaxed>, "memory is used again");
    passes(reuse_memory<release>);
}

TEST_CASE("a slot that is given back without release is reported as load buffering") {
    fails_with(give_back_a_slot<relaxed>, "load buffering");
    passes(give_back_a_slot<release>);
}

TEST_CASE("an exception that nobody catches is a failure of the model") {
    fails_with([] { throw std::runtime_error("nobody catches this"); }, "nobody catches this");
}

TEST_CASE("abort() and a bad access to memory are failures of the model") {
    fails_with([] { std::abort(); }, "abort()");
    fails_with(
        [] {
            kept = nullptr;
            *kept = 1;
        },
        "segmentation fault");
}
