/// The methods of experiment request-order, for any lock and for any desk, which is a queue with one
/// consumer.
#pragma once

#include <lab/experiments/request-order/request_order.hpp>
#include <lab/peers/row.hpp>

#include <queue>

namespace lab::request_order {

/// Each thread processes its own request while it holds the lock. If not `Processes`, it only gets a number
/// there and puts the number into a queue.
///
/// A lock that promises order returns the number that was assigned when the call joined the queue.
template <class Lock, bool Processes>
struct by_lock {
    static constexpr bool keeps_order = requires(Lock& lock) { lock.lock_numbered(); };
    static constexpr bool processes = Processes;
    static constexpr bool has_threads = true;

    static sizes serve(service& s, crowd& all) {
        Lock lock;
        std::uint64_t count = 0;
        std::queue<std::uint64_t> numbers;
        all.start([&](receipt& mine) {
            if constexpr (keeps_order) {
                const std::uint32_t told = lock.lock_numbered();
                mine.number = unwrapped(told, count++);
            } else {
                lock.lock();
                mine.number = count++;
            }
            mine.numbered_ns = now_ns();
            if constexpr (Processes) {
                mine.given = s.process(mine.number);
                mine.answered = true;
            } else {
                numbers.push(mine.number);
            }
            lock.unlock();
        });
        all.join();
        if constexpr (requires { lock.longest_queue(); }) {
            lock.lock();
            const std::size_t longest = lock.longest_queue() + 1; // and the owner
            lock.unlock();
            return {.lock = longest};
        }
        return {};
    }

private:
    /// Converts a number that the lock returns modulo another number. Returns the possible number next to the
    /// expected one.
    static std::uint64_t unwrapped(std::uint32_t told, std::uint64_t due) {
        if constexpr (requires { Lock::numbers; })
            return due + (told + Lock::numbers - due % Lock::numbers) % Lock::numbers;
        else
            return told;
    }
};

enum class consumer { first, last, none };

/// Threads leave their requests at a desk: ask(receipt). One thread processes them: serve(count, process)
/// returns the largest number that was waiting. Either the thread that starts the others does this after it
/// has started all of them, or a separate thread that starts first.
template <class Desk, consumer When>
struct by_desk {
    static constexpr bool keeps_order = true;
    static constexpr bool processes = When != consumer::none;
    static constexpr bool has_threads = true;

    static sizes serve(service& s, crowd& all) {
        Desk desk;
        sizes most;
        const auto process = [&s](std::uint64_t number) { return s.process(number); };
        const auto ask = [&desk](receipt& mine) { desk.ask(mine); };
        if constexpr (When == consumer::first) {
            std::thread own([&] { most.queue = desk.serve(all.size(), process); });
            all.start(ask);
            all.join();
            own.join();
        } else {
            all.start(ask);
            if constexpr (When == consumer::last) most.queue = desk.serve(all.size(), process);
            all.join();
        }
        return most;
    }
};

template <class Method>
bool add_method(peers::row row, const char* note, bool ranked = true, const char* manner = "") {
    return add(implementation{.experiment = "request-order",
                              .name = row.name,
                              .title = row.title,
                              .note = note,
                              .run = &run<Method>,
                              .pinnable = false,
                              .order = row.order,
                              .ranked = ranked,
                              .manner = manner});
}

} // namespace lab::request_order
