#include "hazard_pointers.hpp"

#include <ekiden/check/model.hpp>

using namespace ekiden;

namespace {

struct node {
    explicit node(int n) : number(n) {}
    checkable::cell<int> number;
};

void read_while_it_is_replaced() {
    hazard_pointers<node, 1> hazards;
    checkable::atomic<node*> current{new node(1)};
    checkable::thread reader([&] {
        const node* const found = hazards.protect(0, current);
        const int number = found->number.read();
        check::that(number == 1 || number == 2, "the node is one of the two");
        hazards.clear(0);
    });
    {
        hazard_pointers<node, 1>::retired retired(hazards);
        retired.add(current.exchange(new node(2), std::memory_order_seq_cst));
    }
    reader.join();
    delete current.load(std::memory_order_relaxed);
}

} // namespace

EKIDEN_MODEL(hazard_pointers_keep_what_is_read, .about = "a node is replaced while it is read") {
    read_while_it_is_replaced();
}

EKIDEN_MODEL(hazard_pointers_with_an_old_look, .about = "https://github.com/vorner/arc-swap/pull/203",
             .mutant = "second_look_may_be_old") {
    read_while_it_is_replaced();
}
