/// ekiden's own pool, as its users use it.
#pragma once

#include <lab/peers/row.hpp>

#include <ekiden/pool/thread_pool.hpp>
#include <utility>

namespace lab::peers {

class ekiden {
public:
    static constexpr peers::row row{"ekiden", "ekiden", 1};

    explicit ekiden(unsigned workers) : pool_({.threads = workers}) {}

    template <class F>
    void post(F f) {
        pool_.post(std::move(f));
    }

    template <class F>
    void post_bulk(std::size_t count, F f) {
        pool_.post_bulk(count, std::move(f));
    }

    /// Creates a future for `f` and drops it.
    template <class F>
    void submit_and_drop(F f) {
        (void)pool_.submit(std::move(f));
    }

    template <class F>
    auto call(F f) {
        return pool_.submit(std::move(f)).get();
    }

private:
    ::ekiden::thread_pool pool_;
};

} // namespace lab::peers
