#include <check/differential/enumerator.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace ekiden::check::differential {
namespace {

constexpr unsigned most_events = most_locations + most_steps;

bool is_acquire(std::memory_order how) {
    return how == std::memory_order_acquire || how == std::memory_order_acq_rel
           || how == std::memory_order_seq_cst;
}
bool is_release(std::memory_order how) {
    return how == std::memory_order_release || how == std::memory_order_acq_rel
           || how == std::memory_order_seq_cst;
}

/// A relation between events, with a bit for each pair.
class relation {
public:
    void add(unsigned a, unsigned b) { rows_[a] |= std::uint16_t(1U << b); }
    [[nodiscard]] bool has(unsigned a, unsigned b) const { return (rows_[a] >> b & 1U) != 0; }

    [[nodiscard]] relation operator|(const relation& other) const {
        relation out = *this;
        for (unsigned a = 0; a < most_events; ++a) out.rows_[a] |= other.rows_[a];
        return out;
    }
    /// Returns the composition: this relation first, then `other`.
    [[nodiscard]] relation then(const relation& other) const {
        relation out;
        for (unsigned a = 0; a < most_events; ++a) {
            for (unsigned b = 0; b < most_events; ++b) {
                if (has(a, b)) out.rows_[a] |= other.rows_[b];
            }
        }
        return out;
    }
    /// Returns the transitive closure.
    [[nodiscard]] relation closure() const {
        relation out = *this;
        for (unsigned b = 0; b < most_events; ++b) {
            for (unsigned a = 0; a < most_events; ++a) {
                if (out.has(a, b)) out.rows_[a] |= out.rows_[b];
            }
        }
        return out;
    }
    [[nodiscard]] bool is_reflexive_somewhere() const {
        for (unsigned a = 0; a < most_events; ++a) {
            if (has(a, a)) return true;
        }
        return false;
    }

private:
    std::array<std::uint16_t, most_events> rows_{};
};
static_assert(most_events <= 16);

constexpr unsigned none = ~0U;

/// An operation, or the initialization of a location. Whether a compare_exchange writes depends on what it
/// reads.
struct event {
    const step* of = nullptr; // null for an initialization
    unsigned thread = none;
    unsigned location = none; // none for a fence
    bool is_read = false;
    bool is_write = false;
    unsigned source = none; // rf: the write that it reads from
    int value_read = 0;
    int value_written = 0;
    std::memory_order how = std::memory_order_relaxed;

    [[nodiscard]] bool is_fence() const { return of != nullptr && location == none; }
    [[nodiscard]] bool is_modify() const { return is_read && is_write; }
    [[nodiscard]] bool is_sequential() const { return how == std::memory_order_seq_cst; }
};

class enumeration {
public:
    explicit enumeration(const program& p) : program_(p) {
        for (unsigned l = 0; l < p.locations; ++l) events_.push_back({.location = l, .is_write = true});
        for (unsigned t = 0; t < p.threads.size(); ++t) {
            for (const step& s : p.threads[t]) {
                event e{.of = &s, .thread = t, .is_read = reads(s), .how = s.how};
                if (s.what != action::fence) e.location = s.location;
                events_.push_back(e);
            }
        }
        for (unsigned b = 0; b < events_.size(); ++b) {
            for (unsigned a = 0; a < b; ++a) {
                const bool initial = events_[a].of == nullptr && events_[b].of != nullptr;
                if (initial || (events_[a].of != nullptr && events_[a].thread == events_[b].thread))
                    before_.add(a, b);
            }
        }
    }

    allowed run() {
        choose_sources(0);
        return std::move(found_);
    }

private:
    /// Tries each write as the source of each read, starting with read `next`.
    void choose_sources(unsigned next) {
        while (next < events_.size() && !events_[next].is_read) ++next;
        if (next == events_.size()) return with_sources();
        for (unsigned source = 0; source < events_.size(); ++source) {
            const event& e = events_[source];
            const bool may_write = e.of == nullptr || e.of->what != action::load;
            if (source == next || !may_write || e.location != events_[next].location) continue;
            if (before_.has(next, source)) continue;
            events_[next].source = source;
            choose_sources(next + 1);
        }
    }

    void with_sources() {
        relation from;
        for (unsigned r = 0; r < events_.size(); ++r) {
            if (events_[r].is_read) from.add(events_[r].source, r);
        }
        reads_from_ = from;
        if ((before_ | from).closure().is_reflexive_somewhere()) return; // axiom 1
        std::array<bool, most_events> known{};
        for (unsigned i = 0; i < events_.size(); ++i) evaluate(i, known);
        for (const event& e : events_) {
            if (e.is_read && !events_[e.source].is_write) return;
        }
        happens_ = (before_ | synchronizes()).closure();
        order_writes();
    }

    /// Computes the values from the sources, which have no cycle.
    void evaluate(unsigned i, std::array<bool, most_events>& known) {
        event& e = events_[i];
        if (known[i] || e.of == nullptr || e.is_fence()) return;
        known[i] = true;
        if (e.is_read) {
            evaluate(e.source, known);
            e.value_read = events_[e.source].value_written;
        }
        e.how = e.of->how;
        e.is_write = e.of->what != action::load;
        e.value_written = e.of->operand + (e.of->what == action::fetch_add ? e.value_read : 0);
        if (e.of->what == action::compare_exchange && e.value_read != e.of->expected) {
            e.is_write = false;
            e.how = e.of->on_failure;
        }
    }

    /// Returns synchronizes-with: from releases to acquires, both of operations and of fences next to them.
    [[nodiscard]] relation synchronizes() const {
        relation with;
        for (unsigned r = 0; r < events_.size(); ++r) {
            if (!events_[r].is_read) continue;
            // Follows the release sequence backwards, from a read-modify-write to the write that it has read.
            for (unsigned w = events_[r].source; w != none;
                 w = events_[w].is_read ? events_[w].source : none) {
                for (unsigned a = 0; a < events_.size(); ++a) {
                    const bool releases = a == w || (events_[a].is_fence() && before_.has(a, w));
                    if (!releases || !is_release(events_[a].how)) continue;
                    for (unsigned b = 0; b < events_.size(); ++b) {
                        const bool acquires = b == r || (events_[b].is_fence() && before_.has(r, b));
                        if (acquires && is_acquire(events_[b].how)) with.add(a, b);
                    }
                }
            }
        }
        return with;
    }

    /// A modification order of one location, and the eco that follows from it.
    struct coherent {
        relation order;
        int last = 0;
    };

    void order_writes() {
        std::vector<std::vector<coherent>> of_location(program_.locations);
        for (unsigned l = 0; l < program_.locations; ++l) {
            std::vector<unsigned> writes;
            for (unsigned i = program_.locations; i < events_.size(); ++i) {
                if (events_[i].location == l && events_[i].is_write) writes.push_back(i);
            }
            do {
                if (const std::optional<coherent> c = cohere(l, writes)) of_location[l].push_back(*c);
            } while (std::next_permutation(writes.begin(), writes.end()));
            if (of_location[l].empty()) return;
        }
        std::vector<const coherent*> chosen;
        combine(of_location, chosen);
    }

    /// Returns the eco of one location for this modification order. Empty if the order violates axiom 2 or 3.
    [[nodiscard]] std::optional<coherent> cohere(unsigned location,
                                                 const std::vector<unsigned>& writes) const {
        std::array<unsigned, most_events> place{};
        place[location] = 0; // the initialization of the location
        for (unsigned i = 0; i < writes.size(); ++i) place[writes[i]] = i + 1;
        relation direct;
        for (unsigned i = 0; i < events_.size(); ++i) {
            const event& e = events_[i];
            if (e.location != location) continue;
            if (e.is_modify() && place[i] != place[e.source] + 1) return std::nullopt; // axiom 2
            if (e.is_read) direct.add(e.source, i);
            for (const unsigned w : writes) {
                if (w == i) continue;
                if (e.is_write && place[i] < place[w]) direct.add(i, w);       // mo
                if (e.is_read && place[e.source] < place[w]) direct.add(i, w); // fr
            }
        }
        const relation order = direct.closure();
        if (order.is_reflexive_somewhere() || happens_.then(order).is_reflexive_somewhere())
            return std::nullopt;
        return coherent{order, writes.empty() ? 0 : events_[writes.back()].value_written};
    }

    void combine(const std::vector<std::vector<coherent>>& of_location,
                 std::vector<const coherent*>& chosen) {
        if (chosen.size() == of_location.size()) return judge(chosen);
        for (const coherent& c : of_location[chosen.size()]) {
            chosen.push_back(&c);
            combine(of_location, chosen);
            chosen.pop_back();
        }
    }

    /// Checks axiom 4.
    void judge(const std::vector<const coherent*>& chosen) {
        relation order;
        outcome values;
        for (const event& e : events_) {
            if (e.is_read) values.push_back(e.value_read);
        }
        for (const coherent* c : chosen) {
            order = order | c->order;
            values.push_back(c->last);
        }
        if (found_.in_order.contains(values)) return;
        const relation must = sequential_order(order);
        if (must.closure().is_reflexive_somewhere()) return;
        found_.by_standard.insert(values);
        if (!(must | before_ | reads_from_).closure().is_reflexive_somewhere())
            found_.in_order.insert(std::move(values));
    }

    /// Returns the relation that S must agree with.
    [[nodiscard]] relation sequential_order(const relation& order) const {
        const auto count = static_cast<unsigned>(events_.size());
        relation both; // synchronizes-with between seq_cst operations
        const relation with = synchronizes();
        relation must;
        const auto each_pair = [&](const relation& r, auto&& call) {
            for (unsigned a = 0; a < count; ++a) {
                for (unsigned b = 0; b < count; ++b) {
                    if (r.has(a, b)) call(a, b);
                }
            }
        };
        const auto sequential = [&](unsigned i) { return events_[i].is_sequential(); };
        const auto sequential_fence = [&](unsigned i) { return sequential(i) && events_[i].is_fence(); };
        each_pair(with, [&](unsigned a, unsigned b) {
            if (sequential(a) && sequential(b)) both.add(a, b);
        });
        const relation strongly = (before_ | both | before_.then(happens_).then(before_)).closure();
        each_pair(strongly, [&](unsigned a, unsigned b) {
            if (sequential(a) && sequential(b)) must.add(a, b);
        });
        each_pair(order, [&](unsigned a, unsigned b) {
            for (unsigned x = 0; x < count; ++x) {
                if (!(x == a && sequential(a)) && !(sequential_fence(x) && happens_.has(x, a))) continue;
                for (unsigned y = 0; y < count; ++y) {
                    if ((y == b && sequential(b)) || (sequential_fence(y) && happens_.has(b, y)))
                        must.add(x, y);
                }
            }
        });
        return must;
    }

    const program& program_;
    std::vector<event> events_;
    relation before_; // sb, and the initialization before everything else
    relation reads_from_;
    relation happens_;
    allowed found_;
};

} // namespace

allowed enumerate(const program& p) { return enumeration(p).run(); }

} // namespace ekiden::check::differential
