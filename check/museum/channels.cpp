// Channels.
#include <check/museum/exhibit.hpp>

namespace channels_exhibits {

using namespace ekiden::sys;
namespace check = ekiden::check;

// The first push allocates the first block, and stores it in the tail and then in the head. Meanwhile,
// another push can already add an item. When the receiver is dropped, it takes the block out of the head by
// an exchange and frees it. If the head was not set yet, it waits for the block, but reads it without taking
// it out. Then the destructor of the channel frees the block again.
EXHIBIT(crossbeam_1187, "https://github.com/crossbeam-rs/crossbeam/pull/1187") {
    struct block {
        int item = 0;
    };
    atomic<block*> tail_block{nullptr};
    atomic<block*> head_block{nullptr};
    atomic<unsigned> tail{0}; // twice the number of items, and 1 if the receiver is gone
    const auto push = [&] {
        block* in = tail_block.load(acquire);
        if (in == nullptr) {
            auto* const made = new block;
            if (tail_block.compare_exchange_strong(in, made, acq_rel, acquire))
                head_block.store(made, release);
            else
                delete made;
        }
        unsigned at = tail.load(acquire);
        while ((at & 1) == 0 && !tail.compare_exchange_weak(at, at + 2, acq_rel, acquire)) {
        }
    };
    thread first(push);
    thread second(push);

    const unsigned items = tail.fetch_or(1, acq_rel); // the receiver is dropped
    block* in = head_block.exchange(nullptr, acq_rel);
    while (in == nullptr && items != 0) {
        yield();
        in = repaired ? head_block.exchange(nullptr, acq_rel) : head_block.load(acquire);
    }
    delete in;

    first.join();
    second.join();
    delete head_block.load(acquire); // the channel is dropped
}

} // namespace channels_exhibits
