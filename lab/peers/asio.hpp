/// Peer: standalone Asio, header-only: contexts, strands and timers.
///
/// Used by: the experiments on executors, as a library L with the members below.
/// `peers/boost_asio_executors.hpp` has the same members for Boost.Asio, and `peers/ekiden_executors.hpp` for
/// ekiden. The workloads directly call the functions with the same name in all three: run(), restart(),
/// expires_after(), async_wait(), cancel().
///
///     context(int hint)            hint 1: one thread runs it
///     executor, strand             types of a context
///     pool(unsigned threads)       a pool, with the type pool_strand
///     timer(context&)
///     strand_of(context or pool)   returns a new strand
///     post, dispatch(where, f)     where: a context, a pool, a strand
///     bind(executor, f)            associates the executor with f
///     future_of(where, f)          posts f, returns the future of its result
///     keep(context&)               returns an object that keeps run() running without work
///     join(pool&)                  waits until all posted functions have run; the last call of the pool
#pragma once

#include <lab/peers/row.hpp>

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif
#include <asio/bind_executor.hpp>
#include <asio/dispatch.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_future.hpp>
#include <utility>

namespace lab::peers {

struct asio {
    static constexpr peers::row row{"asio", "Asio", 41};
    using context = ::asio::io_context;
    using executor = context::executor_type;
    using strand = ::asio::strand<executor>;
    using pool = ::asio::thread_pool;
    using pool_strand = ::asio::strand<pool::executor_type>;
    using timer = ::asio::steady_timer;

    template <class Context>
    static auto strand_of(Context& of) {
        return ::asio::make_strand(of.get_executor());
    }

    template <class Where, class F>
    static void post(Where& where, F f) {
        ::asio::post(where, std::move(f));
    }

    template <class Where, class F>
    static void dispatch(Where& where, F f) {
        ::asio::dispatch(where, std::move(f));
    }

    template <class Executor, class F>
    static auto bind(const Executor& executor, F f) {
        return ::asio::bind_executor(executor, std::move(f));
    }

    template <class Where, class F>
    static auto future_of(Where& where, F f) {
        return ::asio::post(where, ::asio::use_future(std::move(f)));
    }

    static auto keep(context& running) { return ::asio::make_work_guard(running); }
    static void join(pool& ending) { ending.join(); }
};

/// Only the pool, for the experiments on pools.
class asio_pool {
public:
    static constexpr peers::row row = asio::row;
    explicit asio_pool(unsigned workers) : pool_(workers) {}
    ~asio_pool() { pool_.join(); }

    template <class F>
    void post(F f) {
        ::asio::post(pool_, std::move(f));
    }

    template <class F>
    auto call(F f) {
        return ::asio::post(pool_, ::asio::use_future(std::move(f))).get();
    }

private:
    ::asio::thread_pool pool_;
};

/// Contexts without locks. Only one thread may use such a context.
struct asio_unlocked : asio {
    static constexpr peers::row row{"asio-unlocked", "Asio without locks", 43};
    class context : public ::asio::io_context {
    public:
        explicit context(int) : ::asio::io_context(ASIO_CONCURRENCY_HINT_UNSAFE) {}
    };
};

} // namespace lab::peers
