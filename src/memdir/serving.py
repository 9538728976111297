"""Who answers: which model serves which job and under which caps, and what chooses the memories that are recalled.

Nothing of a model is loaded before one is asked: a hook has none (ADR 0003).
"""

from __future__ import annotations

from _thread import allocate_lock  # a hook should not load all of threading

from memdir.errors import ModelError
from memdir.settings import provider_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memdir.events import Sink
    from memdir.model.budget import AtCap, Budget
    from memdir.model.model import Model, Reply, Request
    from memdir.places import Places, Stores
    from memdir.recall.prefetch import RecallThreads
    from memdir.recall.recall import Chooser, Recaller
    from memdir.recall.selection import LocalChooser


class WhenAsked:
    """A model that is chosen when it is asked: a key that is missing costs what is done then, and comes again, and not
    what waits."""

    def __init__(self, choose: Callable[[], Model]) -> None:
        self._choose = choose

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        return await self._choose().complete(request, on_text=on_text)

    async def close(self) -> None:
        """Nothing is held here."""


class Models:
    """The host's model, or the one that the settings name."""

    def __init__(
        self, places: Places, clock: Callable[[], float], sink: Sink, *, given: Model | None, name: str
    ) -> None:
        self._places = places
        self._clock = clock
        self._sink = sink
        self._given = given
        self._given_name = name
        self._chosen: Model | None = None
        self._not_installed: ModelError | None = None
        self._has_told = False
        self._choosing = allocate_lock()  # recall chooses in a thread: loading an SDK takes long

    @property
    def name(self) -> str:
        """What our own requests call the model: what the host says, or the settings, or else the model itself."""
        from memdir.model.choose import model_name, name_of_model

        settings = self._places.settings
        if self._given is None:
            return self._given_name or model_name(settings)
        return self._given_name or settings.model_name or name_of_model(self._given)

    @property
    def has_opinion(self) -> bool:
        """Whether there is a model besides the built-in one, which has no opinion."""
        if self._given is None:
            return provider_of(self._places.settings) != "builtin"
        from memdir.model.choose import name_of_model

        return name_of_model(self._given) != "builtin"

    def budget(self) -> Budget:
        """What background work may use, and has used (B2)."""
        from memdir.model.budget import Budget, Caps, Ledger, Prices

        layout = self._places.layout
        return Budget(Ledger(layout.ledger), Caps.of(self._places.settings), Prices(layout.prices), self._clock)

    def for_job(self, job: str, *, at_cap: AtCap = "wait") -> Model:
        """The model with a ledger and caps before it, for work behind a conversation (B1, B2)."""
        from memdir.model.budget import BudgetedModel, under_budget

        places, model, budget = self._places, self.for_chat(), self.budget()
        told = (budget, job, places.layout.slug, self._sink, at_cap)
        # A conversation cannot go on without being compacted, memory or not.
        return under_budget(
            model, lambda inner: BudgetedModel(inner, *told, is_on=lambda: job == "compact" or places.is_on)
        )

    def for_recall(self) -> Model:
        """The one that chooses what is recalled. ModelError where only the built-in one could."""
        model = self.for_job("recall", at_cap="raise")  # the local choice is there at once
        if self._not_installed is not None:
            raise self._not_installed
        return model

    def for_chat(self) -> Model:
        """The model for the conversation itself: no cap stands before it."""
        with self._choosing:
            model = self._given if self._given is not None else self._chosen
            if model is None:
                model = self._chosen = self._choose()
        self.tell_who_serves()
        return model

    def _choose(self) -> Model:
        """What the settings name; where that is not installed, the built-in model, and it is told."""
        from memdir.model.choose import choose_model  # a hook that asks no model loads none of it

        try:
            return choose_model(self._places.settings, self._places.environment)
        except ModelError as error:
            if error.kind != "no_sdk":
                raise
            from memdir.model.builtin.builtin_model import BuiltinModel

            self._not_installed = error
            return BuiltinModel()

    def tell_who_serves(self) -> None:
        """Say once that the built-in model serves and nobody chose it. A host that passed a model has chosen."""
        missing = self._not_installed
        is_chosen = self._given is not None or self._places.settings.model_provider != "auto"
        if self._has_told or (is_chosen and missing is None):
            return
        self._has_told = True
        from memdir.events import Event

        reason = f"{missing.message}. {missing.remedy}" if missing else "nobody chose a model"
        self._sink.emit(Event("model.builtin", reason=reason, unused=self._places.environment.keys))

    async def close(self) -> None:
        """Let go of the model, unless it is the host's."""
        chosen, self._chosen = self._chosen, None
        if chosen is not None:
            await chosen.close()


class Recallers:
    """What finds the memories that help with a message, for each scope; made once, and again when a store followed its
    project."""

    def __init__(self, places: Places, stores: Stores, models: Models, clock: Callable[[], float], sink: Sink) -> None:
        self._places = places
        self._stores = stores
        self.models = models
        self._clock = clock
        self._sink = sink
        self._layout = places.layout
        self._opening = allocate_lock()  # recall is opened in threads
        self._choosers: dict[str, LocalChooser] = {}
        self._recallers: dict[tuple[str, bool], Recaller] = {}
        self._threads: RecallThreads | None = None

    @property
    def asks_model(self) -> bool:
        """Whether a model is to choose what is recalled (R2)."""
        selector = self._places.settings.recall_selector
        return selector == "model" or (selector == "auto" and self.models.has_opinion)

    def of(self, scope: str = "project", *, is_alone: bool = False) -> Recaller:
        """Finds the memories that help with a message and renders them (R1): those of a scope by the selector that the
        settings name (R2, R3), and after the project's the user's own for all projects."""
        places = self._places
        selector = places.settings.recall_selector
        if selector == "model" or (selector == "auto" and places.environment.keys):
            self.models.tell_who_serves()
        with self._opening:
            self._look_again()
            if (scope, is_alone) not in self._recallers:
                from memdir.recall.recall import Recaller

                self._recallers[scope, is_alone] = Recaller(
                    self._model_chooser(scope) if self.asks_model and self.models.has_opinion else self.chooser(scope),
                    [self.chooser("user")] if scope == "project" and not is_alone else [],
                    places.of,
                    places.layout.work_tree,
                    sink=self._sink,
                    clock=self._clock,
                    has_team=places.has_team,
                )
            return self._recallers[scope, is_alone]

    def chooser(self, scope: str = "project") -> LocalChooser:
        """Chooses among the memories of a scope on this machine (R3)."""
        self._look_again()
        if scope not in self._choosers:
            from memdir.recall.selection import LocalChooser, LocalSelector

            place = self._places.of(scope)
            selector, warm = LocalSelector(place.root, place.derived), None
            if self._places.settings.recall_encoder == "auto":
                from memdir.recall.prefetch import WarmSelector, open_selector

                warm = WarmSelector(lambda check: open_selector(place.root, place.derived, check=check), self.threads())
            self._choosers[scope] = LocalChooser(
                place, scope, selector, clock=self._clock, warm=warm, has_team=self._places.has_team
            )
        return self._choosers[scope]

    def _look_again(self) -> None:
        if self._layout is not self._places.layout:
            self._layout = self._places.layout
            self._choosers.clear()
            self._recallers.clear()

    def _model_chooser(self, scope: str) -> Chooser:
        from memdir.recall.model_select import ModelChooser

        return ModelChooser(
            self.chooser(scope),
            self._stores.of(scope),
            open_model=self.models.for_recall,
            name=self._places.settings.recall_model or self.models.name,
            sink=self._sink,
            overrides=self._places.layout.prompts,
        )

    def threads(self) -> RecallThreads:
        """What recall runs beside a conversation."""
        from memdir.recall.prefetch import RecallThreads

        self._threads = self._threads or RecallThreads()
        return self._threads

    async def close(self) -> None:
        """End what runs beside conversations, and let go of the model."""
        threads, self._threads = self._threads, None
        self._choosers.clear()
        self._recallers.clear()
        try:
            if threads is not None:
                await threads.close()
        finally:
            await self.models.close()
