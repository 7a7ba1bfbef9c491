"""Writes the logic of the Kafka worker with mutants that can be switched on: mutants.py SOURCES OUT

Each mutant has a name, a file, a text that occurs there exactly once, and its replacement. MUTANT in the replacement is
true if this mutant is on. So the sources themselves contain no mutants. If a text has changed, this script reports an
error.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import mutate  # noqa: E402  tests/unit/mutate.py

MUTANTS = [
    ("a record is committed before it is done", "partition_ledger.cpp",
     "    ++in_lanes_;\n    ready.push_back(&r);",
     "    ++in_lanes_;\n    if (MUTANT) done_.finish(r.id.offset), has_changed_ = true;\n    ready.push_back(&r);"),
    ("a partition that was given back is committed with fresh metadata", "worker_commits.cpp",
     "    if (batch->parts.empty()) return;\n",
     "    for (const auto& ledger : old_)\n"
     "        if (MUTANT && ledger->watermark() >= 0) ledger->take(batch->parts.emplace_back());\n"
     "    if (batch->parts.empty()) return;\n"),
    ("a commit in progress does not hold up the end of an assignment", "worker_commits.cpp",
     "return has_calls && is_in_batch(of);",
     "return !MUTANT && has_calls && is_in_batch(of);"),
    ("the watermark moves over a gap", "done_window.cpp",
     "    set(offset);\n    if (offset == watermark_) advance();",
     "    set(offset);\n    if (MUTANT && offset > watermark_) watermark_ = offset;\n    if (offset == watermark_) advance();"),
    ("the metadata is cut", "commit_metadata.cpp",
     "if (last == done.bits.rend()) return {};",
     "if (last == done.bits.rend() || (MUTANT && done.bits.size() > 8)) return {};"),
    ("the metadata of a commit is not used", "partition_ledger.cpp",
     "if (committed >= 0) done_.restore(*done);",
     "if (committed >= 0) done_.restore(MUTANT ? done_offsets{done->first, {}} : *done);"),
    ("foreign metadata is read over", "commit_metadata.cpp",
     "    if (text.empty()) return done;",
     "    if (text.empty() || MUTANT) return done;"),
    ("metadata of another offset is used", "commit_metadata.cpp",
     "if (committed < 0 || offset != static_cast<std::uint64_t>(committed)) return {};",
     "if (!MUTANT && (committed < 0 || offset != static_cast<std::uint64_t>(committed))) return {};"),
    ("the key does not wait for a retry", "key_queues.cpp",
     "if (at != waiting_.end()) {\n            // From here",
     "if (!MUTANT && at != waiting_.end()) {\n            // From here"),
    ("records that wait for a retry run in the wrong order", "key_queues.cpp",
     "    held_record* const first = at->second.front();\n    at->second.pop_front();",
     "    held_record* const first = MUTANT ? at->second.back() : at->second.front();\n"
     "    MUTANT ? at->second.pop_back() : at->second.pop_front();"),
    ("a revocation does not wait for running functions", "worker_core.cpp",
     "if (of.accepts_results() && of.has_running() && now_ < limit) return false;",
     "if (!MUTANT && of.accepts_results() && of.has_running() && now_ < limit) return false;"),
    ("records behind the window count as holes during a revocation", "partition_ledger.cpp",
     "if (!is_running()) return; // Records",
     "if (!MUTANT && !is_running()) return; // Records"),
    ("the old producer is kept after a time-out", "commit_cycle.cpp",
     "if (state_ == state::ready && wants_producer_) ask",
     "if (!MUTANT && state_ == state::ready && wants_producer_) ask"),
    ("a transaction that timed out is sent again without a new producer", "commit_cycle.cpp",
     "        if (options_.is_transactional) return doubt();\n        break;",
     "        if (!MUTANT && options_.is_transactional) return doubt();\n        break;"),
    ("a transaction with an unknown outcome is sent again", "partition_ledger.cpp",
     "if (!done || done->has(r->id.offset)) free(*r, released);",
     "if (!MUTANT && (!done || done->has(r->id.offset))) free(*r, released);"),
    ("a transaction with an unknown outcome counts as committed", "worker_commits.cpp",
     "const bool is_known = ledger.settle(part, answer.offset, answer.metadata, released_);",
     "if (MUTANT) ledger.committed(part, released_), part.carried.clear();\n"
     "        const bool is_known = ledger.settle(part, answer.offset, answer.metadata, released_);"),
    ("the doubt ends before the committed offsets are known", "worker_commits.cpp",
     "    if (!asked_.empty()) return;",
     "    if (!asked_.empty() && !MUTANT) return;"),
    ("outputs are dropped when their transaction is aborted", "partition_ledger.cpp",
     "if (outputs_sent || !may_commit()) free(*r, released);",
     "if (MUTANT || outputs_sent || !may_commit()) free(*r, released);"),
    ("an aborted transaction counts as committed", "commit_cycle.cpp",
     "        state_ = state::ready;\n        return batch_fate::returned;\n    case outcome::retriable:",
     "        state_ = state::ready;\n        return MUTANT ? batch_fate::committed : batch_fate::returned;\n"
     "    case outcome::retriable:"),
    ("a record that is delivered twice runs twice", "done_window.cpp",
     "if (offset < end_) return false;",
     "if (!MUTANT && offset < end_) return false;"),
    ("a parked key is not durable", "worker_commits.cpp",
     "r.has_key && r.ledger->keys.park(r.key))",
     "r.has_key && r.ledger->keys.park(r.key) && !MUTANT)"),
    ("a parked key is not used", "key_queues.cpp",
     "return parked_.contains(r.key) ?",
     "return !MUTANT && parked_.contains(r.key) ?"),
    ("a partition holds more records than allowed", "partition_ledger.cpp",
     "const std::size_t records = limits_.held - held_;",
     "const std::size_t records = limits_.held - held_ + (MUTANT ? 1 : 0);"),
    ("holes at the end are not passed", "partition_ledger.cpp",
     "    passed_to_ = position;",
     "    if (!MUTANT) passed_to_ = position;"),
]

mutate.write("sim_kafka", MUTANTS, *sys.argv[1:])
