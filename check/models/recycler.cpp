// The recycler: nodes that other threads free come back to their owner, each once, after their last use.
#include <check/engine/model.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/queue/slab_heap.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>

namespace recycler_models {

namespace {

using namespace ekiden;

constexpr unsigned largest = recycler::size_classes - 1; // few nodes a slab: half of one is soon free
constexpr int nodes_per_slab = std::popcount(recycler::node_bits(largest));

/// A node that knows whether it is in use.
struct node {
    sys::cell<int> used{0};
};

node* take(recycler::slab_heap& heap) {
    auto* const made = ::new (heap.allocate(largest)) node;
    made->used.write(1);
    return made;
}

struct slab_with_nodes {
    slab_with_nodes() {
        for (node*& n : nodes) n = take(heap);
    }
    /// As recycler::deallocate, but for several nodes at once.
    void free(int first, int count) {
        std::uint64_t bits = 0;
        for (int i = first; i < first + count; ++i) {
            bits |= recycler::slab::bit_of(nodes[static_cast<std::size_t>(i)]);
            nodes[static_cast<std::size_t>(i)]->used.write(0);
            nodes[static_cast<std::size_t>(i)]->~node();
        }
        recycler::slab::of(nodes[0])->free(bits, largest);
    }

    recycler::slab_depot depot;
    recycler::slab_heap heap{depot};
    std::array<node*, nodes_per_slab> nodes{};
};

} // namespace

EKIDEN_MODEL(recycler_half, .about = "a slab comes back when half of it is free, whoever frees the last node",
             .preemptions = 5, .leaks = false) {
    auto s = std::make_unique<slab_with_nodes>();
    constexpr int half = (nodes_per_slab + 1) / 2;
    sys::thread other([&] { s->free(0, half); });
    std::array<node*, nodes_per_slab> more{};
    for (node*& n : more) n = take(s->heap); // from the old slab as far as it is back, else from a new one
    other.join();
    std::array<node*, half + 1> rest{};
    for (node*& n : rest) n = take(s->heap);
    for (node* n : rest) check::that(n->used.read() == 1, "each node is handed out once");
    const auto is_old = [&](node* n) { return recycler::slab::of(n) == recycler::slab::of(s->nodes[0]); };
    check::that(std::any_of(more.begin(), more.end(), is_old)
                    || std::any_of(rest.begin(), rest.end(), is_old),
                "the slab comes back");
}

EKIDEN_MODEL(recycler_two_free,
             .about = "two threads free one quarter each, and one of them gives the slab back",
             .preemptions = 3, .leaks = false) {
    auto s = std::make_unique<slab_with_nodes>();
    constexpr int quarter = (nodes_per_slab + 3) / 4;
    sys::thread first([&] { s->free(0, quarter); });
    sys::thread second([&] { s->free(quarter, quarter); });
    node* const next = take(s->heap);
    first.join();
    second.join();
    // All that was freed is handed out again, and nothing twice: a node still in use would be written
    // unordered.
    node* last = next;
    for (int i = 0; i < nodes_per_slab + 2 * quarter - 1; ++i) {
        node* const n = take(s->heap);
        check::that(n != last, "a node is handed out once");
        last = n;
    }
}

EKIDEN_MODEL(recycler_returned_stack, .about = "two slabs are given back at the same time", .preemptions = 3,
             .leaks = false) {
    auto s = std::make_unique<slab_with_nodes>();
    std::array<node*, nodes_per_slab> second_slab{};
    for (node*& n : second_slab) n = take(s->heap);
    (void)take(s->heap); // a third one is in use
    constexpr int half = (nodes_per_slab + 1) / 2;
    sys::thread first([&] { s->free(0, half); });
    sys::thread second([&] {
        std::uint64_t bits = 0;
        for (int i = 0; i < half; ++i) {
            node* const n = second_slab[static_cast<std::size_t>(i)];
            bits |= recycler::slab::bit_of(n);
            n->used.write(0);
            n->~node();
        }
        recycler::slab::of(second_slab[0])->free(bits, largest);
    });
    for (int i = 0; i < nodes_per_slab; ++i) (void)take(s->heap);
    first.join();
    second.join();
}

EKIDEN_MODEL(recycler_returned_twice,
             .about = "a node from before a slab's first return completes its second", .preemptions = 3,
             .leaks = false) {
    auto s = std::make_unique<slab_with_nodes>();
    constexpr int half = (nodes_per_slab + 1) / 2;
    for (int i = 0; i < nodes_per_slab; ++i) (void)take(s->heap); // a second slab
    s->free(0, half);                                             // the first one comes back
    sys::thread other([&] { s->free(half, nodes_per_slab - half); });
    for (int i = 0; i < half; ++i) s->nodes[static_cast<std::size_t>(i)] = take(s->heap);
    (void)take(s->heap); // all of the first one is in use, or has come back by now
    s->free(0, 1);
    for (int i = 0; i < 2 * nodes_per_slab; ++i) (void)take(s->heap);
    other.join();
}

EKIDEN_MODEL(recycler_trim, .about = "a slab goes to the depot when its last node's last use is over",
             .preemptions = 4, .leaks = false) {
    auto s = std::make_unique<slab_with_nodes>();
    sys::thread other([&] { s->free(0, nodes_per_slab); });
    s->heap.trim();
    other.join();
    s->heap.trim();
    for (int i = 0; i < nodes_per_slab; ++i) (void)take(s->heap);
}

EKIDEN_MODEL(recycler_across_threads, .about = "a node is freed by another thread and the threads end",
             .preemptions = 3) {
    struct message {
        explicit message(int v) : value(v) {}
        sys::cell<int> value;
    };
    sys::atomic<message*> box{nullptr};
    sys::thread sender([&] { box.store(recycler::create<message>(7), sys::release); });
    message* got = nullptr;
    while ((got = box.load(sys::acquire)) == nullptr) sys::yield();
    check::that(got->value.read() == 7, "the message");
    recycler::destroy(got);
    sender.join();
    auto* const next = recycler::create<message>(8);
    check::that(next->value.read() == 8, "the next message");
    recycler::destroy(next);
}

} // namespace recycler_models
