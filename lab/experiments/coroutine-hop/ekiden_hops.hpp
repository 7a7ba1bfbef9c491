/// Our coroutines that hop and await.
///
/// Used by: coroutine-hop, allocations.
#pragma once

#include <lab/experiments/coroutine-hop/coroutine_hop.hpp>
#include <lab/peers/row.hpp>

#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/loop/loop_context.hpp>

namespace lab::coroutine_hop {

class ekiden_hops {
public:
    static constexpr peers::row row{"ekiden", "ekiden", 1};

    explicit ekiden_hops(unsigned threads)
        : context_(static_cast<int>(threads)),
          strands_{strand(context_.get_executor()), strand(context_.get_executor())} {}

    void start(journey& all) {
        for (unsigned i = 0; i < all.coroutines; ++i) ekiden::co_spawn(context_, travel(all, strands_));
    }
    void start_asking(std::uint64_t count, std::uint64_t& sum) {
        ekiden::co_spawn(context_, ask(count, sum));
    }
    void run() { context_.run(); }
    void restart() { context_.restart(); }

private:
    using context = ekiden::loop_context;
    using strand = ekiden::strand<context::executor_type>;
    using strands = std::array<strand, 2>;

    static ekiden::coroutine<> travel(journey& all, const strands& to) {
        for (std::uint64_t i = 0; i < all.hops; ++i) {
            co_await ekiden::resume_on(to[i % 2]);
            all.seen[i % 2].visit(all.proving);
        }
    }

    static ekiden::coroutine<std::uint64_t> child(std::uint64_t number) { co_return answer(number); }

    static ekiden::coroutine<> ask(std::uint64_t count, std::uint64_t& sum) {
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t found = co_await child(i);
            sum += found;
        }
    }

    context context_;
    strands strands_;
};

} // namespace lab::coroutine_hop
