"""The base of the suites for models that experiments are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel

from bypass.models.catalogue import find_model
from bypass.testing.suites.suite import Suite

M = TypeVar("M", bound=BaseModel)


class ModelSuite(Suite, Generic[M]):
    """A suite for models of one kind. `model` is what is tested: a class, a reference to one
    (`file.py:Class`, `module:Class`), or the name of one that is built in or installed; `parameters` are its
    fields."""

    builtin: ClassVar[Mapping[str, type[BaseModel]]]
    base: ClassVar[type[BaseModel]]
    group: ClassVar[str]
    model: ClassVar[str | type[BaseModel]]
    parameters: ClassVar[Mapping[str, Any]] = {}

    def made(self) -> M:
        """The model with its parameters. Raises UnusableMechanism, and ValidationError of pydantic."""
        kind = self.model
        if isinstance(kind, str):
            found = find_model(kind, self.builtin, self.base, self.group)
            assert found is not None, f"{kind}: expected one of {', '.join(self.builtin)}, or a reference"
            kind = found
        model: M = kind.model_validate(dict(self.parameters))  # type: ignore[assignment] # of the base
        return model

    def test_its_parameters_survive_a_file(self) -> None:
        """A scenario that is written out has the same model."""
        model: M = self.made()
        written = model.model_dump_json()
        again = type(model).model_validate_json(written).model_dump_json()
        assert again == written, f"{written} was written, and {again} read"
