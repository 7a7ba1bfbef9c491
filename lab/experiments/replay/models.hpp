/// The models, for any library with contexts, pools and strands that have the members in `peers/asio.hpp`.
///
/// Used by: experiment replay.
#pragma once

#include <lab/experiments/io-models/io_models.hpp>
#include <lab/experiments/lanes/strand_per_key.hpp>
#include <lab/experiments/replay/replay.hpp>

#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

namespace lab::replay {

/// Contexts and the threads that run them. `Contexts` is a model of io-models.
template <class Contexts, promise Promise>
class in_contexts {
public:
    static constexpr promise promised = Promise;

    in_contexts(unsigned threads, service& s) : contexts_(threads), service_(s) {
        for (unsigned i = 0; i < contexts_.threads(); ++i)
            threads_.emplace_back([this, i] { contexts_.run(i); });
    }
    ~in_contexts() {
        contexts_.close();
        for (std::thread& thread : threads_) thread.join();
    }

    void post(std::size_t index) {
        contexts_.post(service_.key(index), [this, index] { service_.serve<Promise>(index); });
    }

private:
    Contexts contexts_;
    service& service_;
    std::vector<std::thread> threads_;
};

/// One thread runs one context: a queue with a single consumer.
template <class Library>
struct single_consumer : in_contexts<io_models::shared<Library>, promise::order> {
    static constexpr shape formed = shape::serial;

    single_consumer(unsigned, std::size_t, service& s)
        : in_contexts<io_models::shared<Library>, promise::order>(1, s) {}
};

/// One context that all threads run.
template <class Library>
struct shared_context : in_contexts<io_models::shared<Library>, promise::nothing> {
    static constexpr shape formed = shape::pool;

    shared_context(unsigned workers, std::size_t, service& s)
        : in_contexts<io_models::shared<Library>, promise::nothing>(workers, s) {}
};

/// A context for each thread. A key belongs to one of them.
template <class Library>
struct context_per_thread : in_contexts<io_models::per_thread<Library>, promise::order> {
    static constexpr shape formed = shape::sharded;

    context_per_thread(unsigned workers, std::size_t, service& s)
        : in_contexts<io_models::per_thread<Library>, promise::order>(workers, s) {}
};

/// One thread dequeues the requests, and a pool processes them. The pool has all workers, because the one
/// thread has little to do.
template <class Library>
struct half_sync : in_contexts<io_models::half_sync<Library>, promise::nothing> {
    static constexpr shape formed = shape::pool;

    half_sync(unsigned workers, std::size_t, service& s)
        : in_contexts<io_models::half_sync<Library>, promise::nothing>(workers + 1, s) {}
};

/// A strand for each key, on a pool.
template <class Library>
class strand_per_key {
public:
    static constexpr promise promised = promise::order;
    static constexpr shape formed = shape::keyed;

    strand_per_key(unsigned workers, std::size_t keys, service& s) : strands_(workers, keys), service_(s) {}

    void post(std::size_t index) {
        strands_.post(service_.key(index), [this, index] { service_.serve<promise::order>(index); });
    }

private:
    lanes::strand_per_key<Library> strands_;
    service& service_;
};

/// A pool in which each request is a task. `Pool` is a system of the lab, whose destructor waits for all
/// tasks.
template <class Pool>
class in_pool {
public:
    static constexpr promise promised = promise::nothing;
    static constexpr shape formed = shape::pool;

    in_pool(unsigned workers, std::size_t, service& s) : pool_(workers), service_(s) {}

    void post(std::size_t index) {
        pool_.post([this, index] { service_.serve<promise::nothing>(index); });
    }

private:
    Pool pool_;
    service& service_;
};

} // namespace lab::replay
