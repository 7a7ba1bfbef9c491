/// Fork-join as a service of a pool. The service holds the participants of the workers, and the tasks that
/// run stolen children.
///
/// Part: fork. Used by: fork_join.cpp. Private.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/fork/detail/fork_participant.hpp>
#include <ekiden/pool/detail/work_source.hpp>
#include <ekiden/queue/task.hpp>

#include <memory>

namespace ekiden::inline EKIDEN_ABI {

class scheduler;

/// The fork-join service of a pool. The pool's first fork-join call constructs the service. Thread-safe.
class fork_service final : public execution_context::service, private work_source {
public:
    /// `pool` is a thread_pool. Throws std::bad_alloc.
    explicit fork_service(execution_context& pool);
    ~fork_service() override;

    [[nodiscard]] fork_arena& arena() noexcept { return arena_; }

    /// Returns the participant of worker `w`. Only worker `w` itself may call this. Throws std::bad_alloc.
    [[nodiscard]] fork_participant& participant_of(unsigned w);

private:
    /// A slot has the participant of one worker. The slot is a task, which runs the child that this worker
    /// has stolen.
    class slot final : public task {
    public:
        explicit slot(fork_arena& arena) noexcept : task(&answer), participant(arena) {}

        fork_participant participant;
        fork_child* taken = nullptr;

    private:
        static const char* answer(task* base, task_request request);
    };

    void added() noexcept override;
    [[nodiscard]] bool has_work() const noexcept override { return arena_.has_offer(); }
    [[nodiscard]] task* find(unsigned w) noexcept override;
    void ask() noexcept override { arena_.ask_all(); }

    scheduler& pool_;
    fork_arena arena_;
    const std::unique_ptr<std::unique_ptr<slot>[]> slots_; // each worker uses only its own slot
};

} // namespace ekiden::inline EKIDEN_ABI
