/// The interface of a system that runs tasks, as workloads use it. Provides defaults for optional functions.
///
/// Used by: the experiments about pools. A system under test is a class S with
///
///     explicit S(unsigned workers);
///     void post(F f);                  runs f on some worker; any thread may call it
///
/// and optionally any of these, if the system has its own way:
///
///     auto producer();                 returns an object with post(F) for the use of one outside thread
///     void spawn(F f);                 like post, called inside a task
///     auto call(F f);                  submits f, waits for it, returns its result
///     void enter(Body body);           calls body() where the system may be used (for systems whose callers
///                                      are members of a team), and returns after all tasks have run
///     void help();                     inside enter(): runs tasks on the calling thread until none is left
///     void post_bulk(size_t n, F f);   posts n tasks; task i calls f(i), starting at 0
///     static constexpr unsigned slowness;   measure this many times fewer tasks
///
/// The destructor returns after all tasks have run.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include <lab/harness/cell.hpp>

namespace lab {

template <class System>
constexpr std::size_t slowness() {
    if constexpr (requires { System::slowness; })
        return System::slowness;
    else
        return 1;
}

/// The default for producer(): returns the system itself.
template <class System>
class shared_producer {
public:
    explicit shared_producer(System& system) : system_(system) {}
    template <class F>
    void post(F f) {
        system_.post(std::move(f));
    }

private:
    System& system_;
};

template <class System>
auto make_producer(System& system) {
    if constexpr (requires { system.producer(); })
        return system.producer();
    else
        return shared_producer<System>(system);
}

template <class System, class F>
void spawn(System& system, F f) {
    if constexpr (requires { system.spawn(std::move(f)); })
        system.spawn(std::move(f));
    else
        system.post(std::move(f));
}

template <class System, class Body>
void enter(System& system, Body body) {
    if constexpr (requires { system.enter(body); })
        system.enter(body);
    else
        body();
}

/// Several threads that call body(k, producer) at the same moment. In a system with enter(), the producers
/// are tasks of the system. The constructor starts the threads, which wait. run() releases them, and returns
/// when all tasks have been passed to the system.
template <class System, class Body>
class producers {
public:
    producers(const cell& c, System& system, unsigned count, Body body)
        : system_(system), count_(count), body_(std::move(body)) {
        if (entered || count == 1) return;
        for (unsigned k = 0; k < count; ++k) threads_.emplace_back([this, &c, k] { produce(c, k); });
        while (ready_.load() < count) std::this_thread::yield();
    }

    void run() {
        if constexpr (entered) {
            system_.enter([this] {
                for (unsigned k = 0; k + 1 < count_; ++k)
                    system_.post([this, k] {
                        auto producer = make_producer(system_);
                        body_(k, producer);
                    });
                auto producer = make_producer(system_);
                body_(count_ - 1, producer);
            });
        } else if (count_ == 1) {
            auto producer = make_producer(system_);
            body_(0U, producer);
        } else {
            go_.store(true);
            go_.notify_all();
            for (std::thread& t : threads_) t.join();
        }
    }

private:
    static constexpr bool entered = requires(System& s, void (*f)()) { s.enter(f); };

    void produce(const cell& c, unsigned k) {
        c.place_this_thread(k);
        auto producer = make_producer(system_);
        ready_.fetch_add(1);
        go_.wait(false);
        body_(k, producer);
    }

    System& system_;
    unsigned count_;
    Body body_;
    std::vector<std::thread> threads_;
    std::atomic<unsigned> ready_{0};
    std::atomic<bool> go_{false};
};

} // namespace lab
