/// Peer: Boost.Asio's contexts, strands and timers. It has the members that `peers/asio.hpp` explains.
#pragma once

#include <lab/peers/row.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <utility>

namespace lab::peers {

struct boost_asio_executors {
    static constexpr peers::row row{"boost-asio", "Boost.Asio", 40};
    using context = boost::asio::io_context;
    using executor = context::executor_type;
    using strand = boost::asio::strand<executor>;
    using pool = boost::asio::thread_pool;
    using pool_strand = boost::asio::strand<pool::executor_type>;
    using timer = boost::asio::steady_timer;

    template <class Context>
    static auto strand_of(Context& of) {
        return boost::asio::make_strand(of.get_executor());
    }

    template <class Where, class F>
    static void post(Where& where, F f) {
        boost::asio::post(where, std::move(f));
    }

    template <class Where, class F>
    static void dispatch(Where& where, F f) {
        boost::asio::dispatch(where, std::move(f));
    }

    template <class Executor, class F>
    static auto bind(const Executor& executor, F f) {
        return boost::asio::bind_executor(executor, std::move(f));
    }

    template <class Where, class F>
    static auto future_of(Where& where, F f) {
        return boost::asio::post(where, boost::asio::use_future(std::move(f)));
    }

    static auto keep(context& running) { return boost::asio::make_work_guard(running); }
    static void join(pool& ending) { ending.join(); }
};

} // namespace lab::peers
