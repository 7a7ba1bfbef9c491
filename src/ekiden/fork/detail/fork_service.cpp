#include <ekiden/fork/detail/fork_service.hpp>

#include <ekiden/context/thread_context.hpp>
#include <ekiden/pool/detail/scheduler.hpp>

namespace ekiden::inline EKIDEN_ABI {

fork_service::fork_service(execution_context& pool)
    : service(pool), pool_(engine_of(static_cast<thread_pool&>(pool))), arena_(pool_.sleep()),
      slots_(std::make_unique<std::unique_ptr<slot>[]>(pool_.threads().most())) {}

fork_service::~fork_service() = default;

void fork_service::added() noexcept { pool_.set_source(*this); }

fork_participant& fork_service::participant_of(unsigned w) {
    std::unique_ptr<slot>& mine = slots_[w];
    if (mine == nullptr) {
        auto fresh = std::make_unique<slot>(arena_);
        arena_.add(fresh->participant);
        mine = std::move(fresh);
    }
    return mine->participant;
}

/// Steals a child that another thread has published. If no child is published, asks all participants for a
/// child.
task* fork_service::find(unsigned w) noexcept {
    try {
        (void)participant_of(w);
    } catch (...) { // no memory, so this worker steals no child
        return nullptr;
    }
    slot& mine = *slots_[w];
    mine.taken = mine.participant.find();
    if (mine.taken != nullptr) return &mine;
    arena_.ask_all();
    return nullptr;
}

const char* fork_service::slot::answer(task* base, task_request request) {
    if (request == task_request::describe) return "a forked call";
    auto* const self = static_cast<slot*>(base);
    fork_participant*& current = thread_record::here().participant;
    if (current == nullptr) current = &self->participant; // until the worker ends
    self->participant.run_as_worker(*self->taken);
    return nullptr;
}

} // namespace ekiden::inline EKIDEN_ABI
