// Frees a node when no thread reads it any more: M. M. Michael, "Hazard Pointers: Safe Memory Reclamation for
// Lock-Free Objects", IEEE TPDS 15(6), 2004. There is one reader per place. A place belongs to one thread at
// a time.
#pragma once

#include <ekiden/check/checkable.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

template <class Node, std::size_t places>
class hazard_pointers {
public:
    /// Returns the node that `source` points to. It is not freed until clear(place).
    Node* protect(std::size_t place, const ekiden::checkable::atomic<Node*>& source) {
        Node* seen = source.load(std::memory_order_relaxed);
        for (;;) {
            announce(place, seen);
            Node* const now = source.load(EKIDEN_MUTANT(second_look_may_be_old) ? std::memory_order_acquire
                                                                                : std::memory_order_seq_cst);
            if (now == seen) return seen;
            seen = now;
        }
    }
    /// For a node that the caller has found in another way. The caller must check afterwards that the node is
    /// still in use.
    void announce(std::size_t place, Node* node) { hazards_[place].store(node, std::memory_order_seq_cst); }
    void clear(std::size_t place) { hazards_[place].store(nullptr, std::memory_order_release); }

    /// The nodes that one thread has removed and that are not freed yet.
    class retired {
    public:
        explicit retired(hazard_pointers& all) : all_(all) {}
        retired(const retired&) = delete;
        retired& operator=(const retired&) = delete;
        ~retired() {
            while (!nodes_.empty()) {
                scan();
                if (!nodes_.empty()) ekiden::checkable::this_thread::yield();
            }
        }

        void add(Node* node) {
            nodes_.push_back(node);
            scan();
        }

    private:
        void scan() {
            std::erase_if(nodes_, [&](Node* node) {
                const bool in_use = std::ranges::any_of(all_.hazards_, [&](const auto& hazard) {
                    return hazard.load(std::memory_order_seq_cst) == node;
                });
                if (!in_use) delete node;
                return !in_use;
            });
        }

        hazard_pointers& all_;
        std::vector<Node*> nodes_;
    };

private:
    std::array<ekiden::checkable::atomic<Node*>, places> hazards_{};
};
