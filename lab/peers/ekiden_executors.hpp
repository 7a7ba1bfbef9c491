/// ekiden's own contexts, strands and timers, with the members that `peers/asio.hpp` explains.
#pragma once

#include <lab/peers/row.hpp>

#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/dispatch.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/execution/work_guard.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/timer/steady_timer.hpp>
#include <utility>

namespace lab::peers {

struct ekiden_executors {
    static constexpr peers::row row{"ekiden", "ekiden", 1};
    using context = ::ekiden::loop_context;
    using executor = context::executor_type;
    using strand = ::ekiden::strand<executor>;
    class pool : public ::ekiden::thread_pool {
    public:
        explicit pool(unsigned threads) : ::ekiden::thread_pool({.threads = threads}) {}
    };
    using pool_strand = ::ekiden::strand<pool::executor_type>;
    using timer = ::ekiden::steady_timer;

    template <class Context>
    static auto strand_of(Context& of) {
        return ::ekiden::strand(of.get_executor());
    }

    template <class Where, class F>
    static void post(Where& where, F f) {
        ::ekiden::post(where, std::move(f));
    }

    template <class Where, class F>
    static void dispatch(Where& where, F f) {
        ::ekiden::dispatch(where, std::move(f));
    }

    template <class Executor, class F>
    static auto bind(const Executor& executor, F f) {
        return ::ekiden::bind_executor(executor, std::move(f));
    }

    template <class Where, class F>
    static auto future_of(Where& where, F f) {
        return ::ekiden::post(where, ::ekiden::use_future(std::move(f)));
    }

    static auto keep(context& running) { return ::ekiden::make_work_guard(running); }
    static void join(pool& ending) { ending.join(); }
};

} // namespace lab::peers
