"""All models of the site, from the live Hub as far as it answers, else from the snapshot.

In: ``KVDOCS_HUB`` (not set: ``auto``) and the snapshot, whose ids are the models of the site.
Out: a ``Catalogue``: the models, and a sentence on where they come from. Where the Hub and the
snapshot differ in a byte there is none: pages and facts must not part without somebody deciding.

The Hub gets its seconds once for all models. In ``auto`` a model without an answer comes from the
snapshot and says so in its source; in ``live`` it fails the build.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvdocs.facts import hub, live, snapshot
from kvdocs.facts.models import LookupFailed, Model
from kvdocs.facts.refresh import Difference, by_reason, compare, gathered, renames, renewed
from kvdocs.facts.snapshot import Folder
from kvdocs.startup import dataclass

# Pages say no more, so that the same models give the same pages however the network failed.
UNREACHED = "the Hub gave no whole answer"


@dataclass(frozen=True)
class Catalogue:
    """The models, where they come from in a sentence, and what a reader should be told."""

    models: tuple[Model, ...]
    source: str
    warnings: tuple[str, ...] = ()


class SnapshotDiffers(ValueError):
    """The Hub and the snapshot differ in what moves a byte; the message lists every difference.

    ``models`` are those of the site as the Hub has them now.
    """

    def __init__(self, differences: Sequence[Difference], models: Sequence[Model]) -> None:
        self.differences, self.models = tuple(differences), tuple(models)
        ids = " ".join(dict.fromkeys(difference.model_id for difference in differences))
        lines = "\n".join(f"  {difference}" for difference in differences)
        super().__init__(
            f"The Hub and the snapshot differ in what moves a byte:\n{lines}\n"
            f"Accept what the Hub says with: kvdocs snapshot update {ids}"
        )


def catalogue(folder: Folder = snapshot.FOLDER) -> Catalogue:
    """Every model of the snapshot, in the order of its ids.

    Raises:
        SnapshotDiffers: a live answer differs from the snapshot in what moves a byte.
        LookupFailed: in mode ``live``, a model cannot be had; or KVDOCS_HUB is misspelt.
    """
    known = snapshot.load_all(folder)
    chosen = hub.mode() or "auto"
    if chosen == "snapshot":
        return Catalogue(tuple(known), _dated(known))
    answers = live.fetch_many([model.id for model in known], hub.seconds(chosen))
    failures = [answer for answer in answers.values() if isinstance(answer, LookupFailed)]
    if failures and chosen == "live":
        raise gathered(failures, len(known))
    models = tuple(_choose(model, answers[model.id]) for model in known)
    fresh = [(old, new) for old, new in zip(known, models, strict=True) if new.source.kind == "hub"]
    if differences := [found for old, new in fresh for found in compare(old, new)]:
        raise SnapshotDiffers(differences, models)
    return Catalogue(models, _sentence(models), (*_fallbacks(failures), *renames(models)))


def _choose(known: Model, answer: Model | LookupFailed) -> Model:
    if isinstance(answer, LookupFailed):
        return known.standing_in(answer.reason if answer.reached else UNREACHED)
    return renewed(known, answer)


def _sentence(models: Sequence[Model]) -> str:
    others = [model for model in models if model.source.kind != "hub"]
    live_count = f"live Hub, {len(models) - len(others)} of {len(models)}"
    if not others:
        return live_count
    return _dated(others) if len(others) == len(models) else f"{live_count}; {_dated(others)}"


def _dated(models: Sequence[Model]) -> str:
    dates = sorted({model.source.retrieved or "no date" for model in models})
    reasons = sorted({model.source.fallback for model in models} - {""})
    because = f", because {' or '.join(reasons)}" if reasons else ""
    return f"snapshot of {' to '.join(dates[:1] + dates[1:][-1:])}{because}"


def _fallbacks(failures: Sequence[LookupFailed]) -> list[str]:
    return [f"from the snapshot, because {line}" for line in by_reason(failures)]
