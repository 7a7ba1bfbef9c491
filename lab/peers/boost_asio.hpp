/// Peer: Boost.Asio's thread_pool with boost::asio::post.
#pragma once

#include <lab/peers/row.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <utility>

namespace lab::peers {

class boost_asio {
public:
    static constexpr peers::row row{"boost-asio", "Boost.Asio", 40};
    explicit boost_asio(unsigned workers) : pool_(workers) {}
    ~boost_asio() { pool_.join(); }

    template <class F>
    void post(F f) {
        boost::asio::post(pool_, std::move(f));
    }

    template <class F>
    auto call(F f) {
        return boost::asio::post(pool_, boost::asio::use_future(std::move(f))).get();
    }

private:
    boost::asio::thread_pool pool_;
};

} // namespace lab::peers
