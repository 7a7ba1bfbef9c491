/// Experiment channel, with threads: each producer and each consumer is a thread.
#pragma once

#include <lab/experiments/channel/channel.hpp>
#include <lab/harness/together.hpp>

namespace lab::channel {

/// Passes all items. Every thread creates its own end of the channel. `to()` returns a function that pushes
/// an item. `from()` returns a function that pops an item.
template <class To, class From>
usage pass_in_threads(cell& c, const setting& s, std::vector<sink>& sinks, To to, From from) {
    return together(c, s.producers + s.consumers, [&](unsigned me) {
        if (me < s.producers) {
            auto push = to();
            for (source items(s, me); items.more();) push(items.next());
            return;
        }
        auto pop = from();
        for (sink& mine = sinks[me - s.producers]; mine.more();) mine.take(pop());
    });
}

} // namespace lab::channel
