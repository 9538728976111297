"""The dream without a model: `plan_night` reads a memory directory and says what to repair (D3, D6, D7)."""

from memdir.model.builtin.dream.night import Doubt, Edit, Night, NightFile, Plan, Statement
from memdir.model.builtin.dream.plan import plan_night

__all__ = ["Doubt", "Edit", "Night", "NightFile", "Plan", "Statement", "plan_night"]
