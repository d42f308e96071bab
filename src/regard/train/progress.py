"""Where a run is: all of it but weights and optimiser, small enough to be JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Progress:
    """The cursor, the counts and the best so far. Everything that decides what happens next stands here."""

    step: int = 0
    epoch: int = 0
    index: int = 0
    """The next batch of the epoch."""
    units: int = 0
    """Tokens (or what the task counts) trained on."""
    skipped: int = 0
    """Updates left out because a gradient was not finite."""
    skipped_in_a_row: int = 0
    rate_factor: float = 1.0
    """Halved after each roll-back."""
    validated: int = -1
    """The step of the last validation."""
    best: float | None = None
    best_step: int = 0
    waited: int = 0
    """Validations since the best."""
    seconds: float = 0.0
    """Training time of all sessions together."""
    log_bytes: int = 0
    """How long the log was: what came later is written again."""
    unlogged: str = ""
    """Lines of the log that came before, but could not be written."""
    sums: dict[str, float] = field(default_factory=dict)
    """Figures since the last line of the log."""

    def as_json(self) -> dict[str, Any]:
        """For the save."""
        return asdict(self)
