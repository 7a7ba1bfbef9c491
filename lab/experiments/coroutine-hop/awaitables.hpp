/// Coroutines of Asio and of Boost.Asio, which differ only in the namespace. `Asio` has the names.
///
/// Used by: coroutine-hop, allocations. A hop is a post to which the other strand is bound. Then the
/// coroutine runs on that strand.
#pragma once

#include <lab/experiments/coroutine-hop/coroutine_hop.hpp>

namespace lab::coroutine_hop {

template <class Asio>
class awaitables {
    template <class T>
    using awaitable = typename Asio::template awaitable<T>;

public:
    explicit awaitables(unsigned threads)
        : context_(static_cast<int>(threads)),
          strands_{Asio::strand_of(context_), Asio::strand_of(context_)} {}

    void start(journey& all) {
        for (unsigned i = 0; i < all.coroutines; ++i) Asio::spawn(context_, travel(all, strands_));
    }
    void start_asking(std::uint64_t count, std::uint64_t& sum) { Asio::spawn(context_, ask(count, sum)); }
    void run() { context_.run(); }
    void restart() { context_.restart(); }

private:
    using strands = std::array<typename Asio::strand, 2>;

    static awaitable<void> travel(journey& all, strands& to) {
        for (std::uint64_t i = 0; i < all.hops; ++i) {
            co_await Asio::hop(to[i % 2]);
            all.seen[i % 2].visit(all.proving);
        }
    }

    static awaitable<std::uint64_t> child(std::uint64_t number) { co_return answer(number); }

    static awaitable<void> ask(std::uint64_t count, std::uint64_t& sum) {
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t found = co_await child(i);
            sum += found;
        }
    }

    typename Asio::context context_;
    strands strands_;
};

} // namespace lab::coroutine_hop
