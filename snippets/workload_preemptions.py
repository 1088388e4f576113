"""Three thousand requests of the example, simulated at several limits on the running ones."""

from kvdocs.site.example_workload import busy_requests, example, simulated
from kvdocs.site.tables import markdown
from kvdocs.units import ratio
from kvdocs.workload.lengths import mean

found = example()
needed = sum(one.prompt + one.output - 1 for one in busy_requests())
average = mean(found.workload.at_a_moment(found.space))
limits = {
    "p99": found.estimate("p99").sequences,
    "the log, at the stated risk": found.estimate("moment").sequences,
    "the mean": int(found.space.blocks / average),
    "nothing: twice the mean": int(2 * found.space.blocks / average),
}


def percent(part: int, whole: int) -> str:
    return ratio(100 * part, whole, 1) + "%"


rows = []
for name, limit in limits.items():
    steps = simulated(limit)
    held_back = sum(step.waiting > 0 and step.running < limit for step in steps)
    lost = sum(len(step.preempted) for step in steps)
    again = sum(step.tokens for step in steps) - needed
    shares = percent(held_back, len(steps)), percent(again, needed)
    rows.append([name, limit, f"{len(steps):,}", shares[0], f"{lost:,}", shares[1]])

header = ["Planned from", "At most", "Steps", "A place free, no blocks", "Preempted", "Read again"]
print(markdown(header, rows, right="lrrrrr"))
