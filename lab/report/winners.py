"""Compares ekiden with its best peer, in one variant of one experiment.

Used by: page.py, terminal.py.
"""

from model import digits, figure_of


# Our row in an experiment is "ekiden", but where it asks for order it is the lock that promises it.
OWN = {"lock-order": "ekiden-fifo"}


def own_row(experiment):
    return OWN.get(experiment["name"], "ekiden")


def missing_peers(cells):
    """Returns the titles of the peers in these cells, each with the package that would bring it."""
    return ", ".join(sorted({f"{c.title} ({c.reason.removeprefix('package ')})" for c in cells.itertuples()}))


def named(row):
    """Returns the title of a row, with its word."""
    return f"{row['title']}, {row['manner']}" if row["manner"] else row["title"]


def manners(results, experiment, variant):
    """Returns the words, such as "spins", that a row of ekiden and a row of a peer have in this variant."""
    table = results.summary(experiment["name"], variant["name"], variant["primary"])
    if table.empty:
        return []
    own = table.index.str.startswith("ekiden")
    return sorted(set(table[table.ranked & own].manner) & set(table[table.ranked & ~own].manner) - {""})


class Comparison:
    """`figure` is the compared figure. `us` and `best` are summaries with the implementation's title, or None if no
    cell has the figure. Rows that do less than the others (not ranked) cannot win.

    With a `manner`, the best rows of ekiden and of the peers that have this word are compared. Without it, our row is
    own_row(), and the peers are those without a row of ekiden that does the same, or all if there are no such peers.
    """

    def __init__(self, results, experiment, variant, manner=""):
        self.experiment = experiment
        self.figure = figure_of(experiment, variant["primary"])
        self.us = self.best = None
        table = results.summary(experiment["name"], variant["name"], self.figure["name"])
        if table.empty:
            return
        table = table[table.ranked]
        own = table[table.index.str.startswith("ekiden")]
        peers = table[~table.index.str.startswith("ekiden")]
        if manner:
            own, peers = own[own.manner == manner], peers[peers.manner == manner]
        else:
            others = peers[~peers.manner.isin(manners(results, experiment, variant))]
            peers = peers if others.empty else others
        if not own.empty and manner:
            self.us = self._best(own)
        elif not own.empty:
            self.us = own.loc[own_row(experiment)] if own_row(experiment) in own.index else own.iloc[0]
        if not peers.empty:
            self.best = self._best(peers)

    def _best(self, table):
        return table.loc[table["median"].idxmin() if self.figure["lower_is_better"] else table["median"].idxmax()]

    @property
    def complete(self):
        return self.us is not None and self.best is not None

    @property
    def undecided(self):
        """Returns whether the quartiles overlap, or the ratio rounds to 1."""
        return (self.us["lower_quartile"] <= self.best["upper_quartile"]
                and self.best["lower_quartile"] <= self.us["upper_quartile"]
                or self.ratio is not None and digits(self.ratio) == digits(1))

    @property
    def ratio(self):
        """Returns how many times better ekiden is, below 1 if it is worse. None if a count is 0."""
        ours, theirs = float(self.us["median"]), float(self.best["median"])
        if ours <= 0 or theirs <= 0:
            return None
        return theirs / ours if self.figure["lower_is_better"] else ours / theirs

    def verdict(self):
        """Returns (words, class). Overlapping quartiles are a draw."""
        ours, theirs = self.us["median"], self.best["median"]
        if self.experiment["name"] == "allocations" and (ours < 0.001 or ours >= theirs):
            return ("none in steady state", "win") if ours < 0.001 else ("some", "lose")
        if self.undecided:
            return "within the spread", "par"
        if not self.figure["lower_is_better"]:  # shares
            points = (ours - theirs) * 100
            return f"{abs(points):.0f} points {'more' if points > 0 else 'less'}", "win" if points > 0 else "lose"
        if self.ratio is None:  # counts
            return ("none", "win") if ours <= 0 else ("some", "lose")
        better, worse = ("faster", "slower") if self.figure["unit"] in ("ns", "us", "ms", "s") else ("less", "more")
        return (f"{digits(self.ratio)}x {better}", "win") if ours < theirs else (f"{digits(1 / self.ratio)}x {worse}", "lose")
