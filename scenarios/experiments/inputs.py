"""The inputs of an experiment beside its parameters, files and modules; and the experiment written out as a
file that gives the same run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bypass.core.rule_sources import INSTALLED_RULES
from bypass.mechanisms.families import FILTER_PROXY
from bypass.mechanisms.registry import INSTALLED
from bypass.models.catalogue import INSTALLED_MODELS, INSTALLED_WORKLOADS
from bypass.scenarios.experiments.dependencies import Dependencies
from bypass.scenarios.experiments.mechanism_defaults import mechanism_defaults
from bypass.scenarios.experiments.provenance import code_hash, input_hashes, library_version
from bypass.scenarios.experiments.rulebooks import rule_file
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import variants
from bypass.support.extensions import file_of, installed_names, module_of, offers
from bypass.transitions import Action, Plan
from bypass.transitions.yaml_text import dump_yaml

EXPERIMENT = "experiment.yaml"

_MODELS = (
    "mobility",
    "workload",
    "churn",
    "objects.workload",
)  # groups of keys that a model's name decides about


def input_files(scenario: Scenario) -> list[Path]:
    """The files and folders that the runs of a scenario read, each once."""
    found: list[Path] = []
    for each in variants(scenario).values():
        found += (*each.mobility.build().inputs, *each.churn.build().inputs)
        files = (*map(rule_file, each.rules.sources), *map(file_of, _references(each)))
        found += [file for file in files if file is not None]
    return list(dict.fromkeys(found))


def input_code(scenario: Scenario) -> tuple[list[str], dict[str, str]]:
    """The modules of others that the runs of a scenario name, and the versions of the distributions that
    offer them, where one does."""
    modules: list[str] = []
    distributions: dict[str, str] = {}
    for each in variants(scenario).values():
        modules += [module for path in _references(each) if (module := module_of(path)) is not None]
        for group, names in _offered(each).items():
            for offer in offers(group, names):
                modules.append(offer.module)
                distributions |= offer.distribution
    return list(dict.fromkeys(modules)), distributions


def _references(scenario: Scenario) -> tuple[str, ...]:
    """All references of a scenario; names of what is built in or installed are among them."""
    models = scenario.mobility.model, scenario.churn.model, *_workloads(scenario)
    return (*scenario.mechanisms, *models, *scenario.rules.sources)


def _workloads(scenario: Scenario) -> list[str]:
    """The workloads of events and of objects that a scenario names."""
    storing = None if scenario.objects is None else scenario.objects.workload
    return [scenario.workload.model, *([] if storing is None else [storing.model])]


def _offered(scenario: Scenario) -> dict[str, Iterable[str]]:
    """The names that a scenario may have of installed packages, by group of entry points."""
    actions = (*scenario.begin, *(action for step in scenario.timeline for action in step.plan.actions))
    named = (*scenario.mechanisms, scenario.filter.scheme, *(a.to or a.of or "" for a in actions))
    return {
        # Rules say only when they are applied what they change to.
        INSTALLED: installed_names(INSTALLED) if scenario.rules.sources else named,
        INSTALLED_MODELS: (scenario.mobility.model, scenario.churn.model),
        INSTALLED_WORKLOADS: _workloads(scenario),
        INSTALLED_RULES: scenario.rules.sources,
    }


def origin(scenario: Scenario) -> dict[str, Any]:
    """The data that decide a scenario's figures beside its parameters and seed: version, code of ours and of
    others, inputs. Raises OSError."""
    files = input_files(scenario)
    modules, distributions = input_code(scenario)
    code = Dependencies(modules, [file for file in files if file.suffix == ".py"])
    return {
        "version": library_version(),
        "code": code_hash(),
        "modules": dict(sorted(code.modules.items())),
        "distributions": dict(sorted((code.distributions | distributions).items())),
        "inputs": input_hashes(files),
    }


def parameters(scenario: Scenario) -> dict[str, Any]:
    """Give the scenario as data that gives the same one wherever it is read, also by a version with other
    defaults: they are written out, those of models and mechanisms included, and files have absolute paths.

    Mechanisms of installed packages that rules alone name have no defaults here.
    """
    data: dict[str, Any] = scenario.model_dump(mode="json", exclude={"timeline", "checks"})
    data |= scenario.model_dump(mode="json", include={"timeline", "checks"}, exclude_defaults=True)
    experiments = variants(scenario) if scenario.runs else {}
    for group in (*_MODELS, "rules"):
        if any(_touches(own, group) for own in scenario.runs.values()):
            # Parameters of one model are no parameters of another: each run has its own.
            for name, each in experiments.items():
                own = {key: value for key, value in data["runs"][name].items() if not _touches([key], group)}
                data["runs"][name] = {**own, group: _written_out(each, group)}
        else:
            *above, last = group.split(".")
            place = data[above[0]] if above else data
            if place is not None:
                place[last] = _written_out(scenario, group)
    if any(_touches(own, key) for own in scenario.runs.values() for key in ("mechanisms", "defaults")):
        for name, each in experiments.items():
            own = {key: value for key, value in data["runs"][name].items() if not _touches([key], "defaults")}
            data["runs"][name] = {**own, "defaults": _defaults([each])}
    else:
        data["defaults"] = _defaults([scenario, *experiments.values()])
    return data


def _defaults(scenarios: Iterable[Scenario]) -> dict[str, Any]:
    """The values that parameters of mechanisms begin with, of all mechanisms that these scenarios have."""
    found: dict[str, Any] = {}
    for each in scenarios:
        registry = each.registry()
        first = Action(proxy=FILTER_PROXY, to=each.filter.scheme)
        registry.check(Plan(plan="begin", actions=(first, *each.begin)))  # it brings what is installed
        for step in each.timeline:
            registry.check(step.plan)
        for proxy, mechanisms in mechanism_defaults(registry).items():
            found.setdefault(proxy, {}).update(mechanisms)
    return found


def _touches(keys: Iterable[str], group: str) -> bool:
    return any(f"{key}.".startswith(f"{group}.") for key in keys)


def _written_out(scenario: Scenario, group: str) -> dict[str, Any] | None:
    """One group of keys with all values of its model; None for a model that is not chosen."""
    choice: Any = scenario
    for name in group.split("."):
        choice = None if choice is None else getattr(choice, name)
    if choice is None:
        return None
    data: dict[str, Any] = choice.model_dump(mode="json")
    if group == "rules":
        found = [
            source if (file := rule_file(source)) is None else str(file.absolute())
            for source in scenario.rules.sources
        ]
        return data if not found else {**data, "use": found if isinstance(data["use"], list) else found[0]}
    model = choice.build()
    files = {path: str(path.absolute()) for path in getattr(model, "inputs", ())}
    data |= model.model_dump(mode="json")
    return {
        key: files.get(Path(value), value) if isinstance(value, str) else value for key, value in data.items()
    }


def experiment_text(scenario: Scenario, **more: Any) -> str:
    """The scenario as a file that gives the same one."""
    return dump_yaml({**parameters(scenario), **more})
