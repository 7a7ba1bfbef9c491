#include <ekiden/fork/detail/fork_service.hpp>

#include <ekiden/context/thread_context.hpp>
#include <ekiden/pool/detail/scheduler.hpp>

namespace ekiden::inline EKIDEN_ABI {

fork_service::fork_service(execution_context& pool)
    : service(pool), pool_(engine_of(static_cast<thread_pool&>(pool))), arena_(pool_.sleep()),
      places_(std::make_unique<std::unique_ptr<place>[]>(pool_.threads().most())) {}

fork_service::~fork_service() = default;

void fork_service::added() noexcept { pool_.set_source(*this); }

fork_party& fork_service::party_of(unsigned w) {
    std::unique_ptr<place>& mine = places_[w];
    if (mine == nullptr) {
        auto fresh = std::make_unique<place>(arena_);
        arena_.add(fresh->party);
        mine = std::move(fresh);
    }
    return mine->party;
}

/// Steals a child that another thread has published. If there is none, asks all parties for one.
task* fork_service::find(unsigned w) noexcept {
    try {
        (void)party_of(w);
    } catch (...) { // no memory: other threads run the child
        return nullptr;
    }
    place& mine = *places_[w];
    mine.taken = mine.party.find();
    if (mine.taken != nullptr) return &mine;
    arena_.ask_all();
    return nullptr;
}

const char* fork_service::place::answer(task* base, task_request request) {
    if (request == task_request::describe) return "a forked call";
    auto* const self = static_cast<place*>(base);
    fork_party*& current = thread_record::here().party;
    if (current == nullptr) current = &self->party; // until the worker ends
    self->party.run_as_worker(*self->taken);
    return nullptr;
}

} // namespace ekiden::inline EKIDEN_ABI
