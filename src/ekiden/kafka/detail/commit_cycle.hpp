/// The commit that is in progress: its calls, their errors, and what follows from them. At most one commit is
/// in progress.
///
/// Part: kafka. Used by: worker_core. Private. The page worker.md has the table of errors.
#pragma once

#include <ekiden/kafka/detail/broker_link.hpp>
#include <ekiden/kafka/detail/core_options.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

/// What worker_core does with the records of a batch.
enum class batch_fate : std::uint8_t {
    pending,   ///< The commit is in progress, or its outcome is not known yet.
    committed, ///< The commit has succeeded.
    returned,  ///< The commit had no effect. The records belong to the next commit.
    unknown,   ///< The outcome is unknown, but final now: read the committed offsets.
};

class commit_cycle {
public:
    enum class state : std::uint8_t {
        making,     ///< waits for a new producer
        ready,      ///< A commit can begin.
        committing, ///< waits for the answer to commit()
        aborting,   ///< waits for the answer to abort()
        asking,     ///< The outcome is unknown: waits for the committed offsets.
        failed,     ///< The worker ends.
    };

    commit_cycle(const core_options& chosen, broker_link& outside) : options_(chosen), link_(outside) {}

    [[nodiscard]] state now() const noexcept { return state_; }
    [[nodiscard]] bool is_ready() const noexcept { return state_ == state::ready; }
    /// The batch in progress, or null.
    [[nodiscard]] commit_batch* batch() noexcept { return batch_.get(); }
    [[nodiscard]] const commit_batch* batch() const noexcept { return batch_.get(); }
    [[nodiscard]] const std::optional<std::string>& failure() const noexcept { return failure_; }

    /// Asks for the first producer.
    void start();
    /// Begins the commit of a batch. Needs is_ready().
    void begin(std::unique_ptr<commit_batch> batch, sys::clock::time_point now);
    /// Removes the batch. The fate of the batch must be final. If a new producer is wanted, asks for it.
    std::unique_ptr<commit_batch> finish();
    /// Removes the batch in the destructor of the core.
    std::unique_ptr<commit_batch> abandon() noexcept { return std::move(batch_); }
    /// Repeats a retriable call whose time has come.
    void tick(sys::clock::time_point now);
    [[nodiscard]] sys::clock::time_point next_time() const noexcept { return repeat_at_; }

    [[nodiscard]] batch_fate producer_ready(const call_result& result, sys::clock::time_point now);
    [[nodiscard]] batch_fate commit_ended(std::uint64_t batch, const call_result& result,
                                          sys::clock::time_point now);
    [[nodiscard]] batch_fate abort_ended(std::uint64_t batch, const call_result& result,
                                         sys::clock::time_point now);
    /// Ends the worker with this error.
    void fail(const std::string& why);

    /// Whether all brokers have the outputs of a batch that was returned.
    [[nodiscard]] bool has_sent_outputs() const noexcept { return outputs_sent_; }
    /// The topic whose outputs were refused, if a refused topic has made the batch return.
    [[nodiscard]] const std::string& refused_topic() const noexcept { return refused_topic_; }
    [[nodiscard]] std::uint64_t aborts() const noexcept { return aborts_; }
    [[nodiscard]] std::uint64_t fenced() const noexcept { return fenced_; }
    [[nodiscard]] std::uint64_t producers() const noexcept { return producers_; }

private:
    enum class repeated : std::uint8_t { nothing, call, producer };

    [[nodiscard]] bool is_current(std::uint64_t number, state wanted) const noexcept {
        return state_ == wanted && batch_ != nullptr && batch_->number == number;
    }
    void repeat_later(repeated what, sys::clock::time_point now);
    void ask_for_producer();
    [[nodiscard]] batch_fate doubt();

    const core_options& options_;
    broker_link& link_;
    state state_ = state::making;
    std::unique_ptr<commit_batch> batch_;
    repeated repeats_ = repeated::nothing;
    sys::clock::time_point repeat_at_ = sys::clock::time_point::max();
    bool wants_producer_ = false; // before the next commit
    bool outputs_sent_ = false;
    std::string refused_topic_;
    std::optional<std::string> failure_;
    std::uint64_t aborts_ = 0;
    std::uint64_t fenced_ = 0;
    std::uint64_t producers_ = 0;
};

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
