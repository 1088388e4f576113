"""The example's pool with sequences of its log, a place for each at several sizes."""

import random

from kvdocs.site.charts import Share, shared_pool
from kvdocs.site.example_workload import LIMIT, example

found = example()
space, log = found.space, found.workload
moment = log.at_a_moment(space)
drawn = random.Random(2).choices(list(moment), weights=list(moment.values()), k=1000)

shares = []
for way, name in (("max_model_len", f"a place of {LIMIT:,} tokens"), ("p99", "a place of p99")):
    plan = found.estimate(way)
    room = space.most(plan.tokens or 0)
    places = tuple((room, min(held, room)) for held in drawn[: plan.sequences])
    shares.append(Share(f"{plan.sequences} sequences, each with {name}", "set aside", places))

count = found.estimate("moment").sequences
places = tuple((held, held) for held in drawn[:count])
shares.append(Share(f"{count} sequences, each with what it holds", "blocks as they come", places))
print(shared_pool(shares, space.blocks, "workload-pool"))
