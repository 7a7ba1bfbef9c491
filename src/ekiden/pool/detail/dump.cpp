// The report of a pool that makes no progress: see thread_pool::dump().
#include <ekiden/execution/detail/dump_samples.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/pool/detail/worker.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/raw_output.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace ekiden::inline EKIDEN_ABI {
namespace {

using doing = worker::snapshot::state;

/// The time between the two samples. A worker whose state is the same in both samples makes no progress.
constexpr std::uint64_t between_samples_ns = 50'000'000;

/// The largest number of workers whose first samples fit on the stack of a signal handler. The report has no
/// first sample of all other workers.
constexpr std::size_t most_compared = 64;

struct first_sample {
    std::uint64_t finished = 0;
    const task* awaited = nullptr;
    std::uint64_t since_ns = 0;
    const void* wanted_lock = nullptr;
    doing is = doing::busy;
    bool is_blocked = false;

    [[nodiscard]] static first_sample of(const worker::snapshot& now) noexcept {
        return {now.finished, now.awaited, now.since_ns, now.wanted_lock, now.is, now.blocked_on != nullptr};
    }
    friend bool operator==(const first_sample&, const first_sample&) = default;
};

class dumper {
public:
    dumper(int file, std::span<const std::unique_ptr<worker>> workers, std::string_view name,
           const execution_context& of)
        : out_(file), workers_(workers), name_(name), context_(of) {
        for (std::size_t i = 0; i != compared(); ++i) before_[i] = first_sample::of(workers_[i]->look());
        context_.dump_services(services_);
        sys::raw_sleep(between_samples_ns);
        now_ns_ = sys::now_ns();
    }

    void head(std::uint64_t pending, std::uint32_t gate) {
        std::uint64_t threads = 0;
        for (const auto& w : workers_) threads += w->look().is != doing::gone ? 1U : 0U;
        out_ << "pool " << name_ << ": " << threads << " threads, " << pending << " tasks queued or running";
        if ((gate & gate_bit::paused) != 0) out_ << ", paused";
        if ((gate & gate_bit::stopped) != 0)
            out_ << ", stopped";
        else if ((gate & gate_bit::closed) != 0)
            out_ << ", closed";
        out_ << "\n";
    }

    void line(std::size_t i) {
        const worker::snapshot now = workers_[i]->look();
        if (now.is == doing::gone) return;
        out_ << "  ";
        put_worker(i) << ": ";
        if (now.is == doing::standing_by) {
            out_ << "stands by\n";
            return;
        }
        if (now.is == doing::held) {
            out_ << "has a task that waits for resume()\n";
            return;
        }
        const bool awaits = now.awaits_asleep();
        if (now.blocked_on != nullptr && !awaits) {
            out_ << "blocked on " << now.blocked_on << " ";
            put_length(now) << ", in ";
            put_type(now.task_type);
            if (const auto owner = holder_of(now.wanted_lock); owner != workers_.size()) {
                out_ << ", ";
                put_worker(owner) << " holds it";
            }
        } else if (now.is == doing::asleep && !awaits) {
            out_ << "sleeps without tasks ";
            put_length(now);
        } else if (awaits) {
            out_ << "waits for ";
            put_type(now.awaited_type) << " ";
            put_length(now);
            if (const auto owner = runner_of(now); owner != workers_.size()) {
                out_ << ", which ";
                put_worker(owner) << " runs";
            } else
                out_ << ", which no worker of this pool runs: it is queued, or elsewhere";
        } else if (now.task_type == nullptr || (now.is == doing::searching && now.awaited == nullptr)) {
            out_ << "searches for a task";
        } else {
            out_ << "runs ";
            put_type(now.task_type);
            if (has_stood_still(i, now))
                out_ << ", for 50 ms at least";
            else
                out_ << ", or has just ended it: it moves";
        }
        out_ << "\n";
    }

    /// Writes what waits in the services of the pool, namely coroutines.
    void services() {
        services_.begin_second();
        context_.dump_services(services_);
    }

    /// Writes the circles of tasks that wait for each other. Each circle begins with the worker that has the
    /// lowest index.
    void circles() {
        for (std::size_t first = 0; first != compared(); ++first) {
            std::size_t at = first;
            std::size_t length = 0;
            do {
                at = held_up_by(at);
                ++length;
            } while (at != none && at > first && length <= workers_.size());
            if (at != first) continue;
            out_ << "  circle: ";
            for (std::size_t step = 0; step != length; ++step) {
                const worker::snapshot now = workers_[at]->look();
                const bool awaits = now.awaits_asleep();
                put_worker(at) << " waits for ";
                if (awaits || now.blocked_on == nullptr)
                    put_type(now.awaited_type);
                else
                    out_ << now.blocked_on;
                at = held_up_by(at);
                if (at == none) break; // the worker has made progress meanwhile
                out_ << ", which ";
                put_worker(at) << (awaits ? " has on its stack" : " holds")
                               << (step + 1 == length ? "\n" : "; ");
            }
        }
    }

private:
    static constexpr std::size_t none = ~std::size_t{0};

    [[nodiscard]] std::size_t compared() const noexcept { return std::min(workers_.size(), most_compared); }

    sys::raw_output& put_worker(std::size_t i) { return out_ << name_ << "-" << std::uint64_t{i}; }
    sys::raw_output& put_type(task::function type) {
        return out_ << (type != nullptr ? described_type(type(nullptr, task_request::describe)) : "no task");
    }
    sys::raw_output& put_length(const worker::snapshot& now) {
        out_ << "for ";
        return out_.duration(now_ns_ > now.since_ns ? now_ns_ - now.since_ns : 0);
    }

    [[nodiscard]] bool has_stood_still(std::size_t i, const worker::snapshot& now) const noexcept {
        return i < compared() && before_[i].finished == now.finished;
    }

    /// Returns the index of the worker that has on its stack the task for which `waiting` waits.
    [[nodiscard]] std::size_t runner_of(const worker::snapshot& waiting) const noexcept {
        std::size_t i = 0;
        while (i != workers_.size() && !workers_[i]->seems_to_run(waiting.awaited, waiting.awaited_type)) ++i;
        return i;
    }

    [[nodiscard]] std::size_t holder_of(const void* lock) const noexcept {
        std::size_t i = 0;
        while (i != workers_.size() && (lock == nullptr || !workers_[i]->seems_to_hold(lock))) ++i;
        return i;
    }

    /// Returns the index of the worker that has the task or the lock for which worker `i` waits. Returns
    /// `none` if there is no such worker, or if the state of worker `i` has changed since the first sample.
    [[nodiscard]] std::size_t held_up_by(std::size_t i) const noexcept {
        if (i >= compared()) return none;
        const worker::snapshot now = workers_[i]->look();
        if (!(first_sample::of(now) == before_[i])) return none;
        const std::size_t owner = now.awaits_asleep()         ? runner_of(now)
                                  : now.blocked_on != nullptr ? holder_of(now.wanted_lock)
                                                              : workers_.size();
        return owner != workers_.size() ? owner : none;
    }

    sys::raw_output out_;
    std::span<const std::unique_ptr<worker>> workers_;
    std::string_view name_;
    const execution_context& context_;
    detail::dump_samples services_{out_};
    std::uint64_t now_ns_ = 0;
    std::array<first_sample, most_compared> before_{};
};

} // namespace

void scheduler::dump(int file, const execution_context& of) const noexcept {
    const auto shown = workers(); // more workers may be started later
    dumper out(file, shown, options_.name, of);
    const std::uint64_t ended = finished(); // read before accepted(), so the difference is not negative
    out.head(accepted() - ended, gate_.load(sys::relaxed));
    for (std::size_t i = 0; i != shown.size(); ++i) out.line(i);
    out.circles();
    out.services();
}

} // namespace ekiden::inline EKIDEN_ABI
