"""Errors of the library, said in the words of the command line.

The library speaks of its parameters: ``epsilon must be greater than 0``, or between backticks
```max_terms=50```. Whoever runs a command gave options, so the same error names ``--epsilon`` and
``--max-terms 50`` there. A name that is no option of the command stays as it is.
"""

from __future__ import annotations

import re
from typing import Any

from tacit.errors import ParameterError, TacitError

__all__ = ["say_in_options"]

_QUOTED = re.compile(r"`(\w+)(?:=([^`]*))?`")


def say_in_options(error: TacitError, command: Any) -> None:
    """Rewrite ``error`` in place so that it speaks of the options of ``command``."""
    options = {name: parameter for parameter in command.params for name in _names(parameter)}

    def quoted(found: re.Match[str]) -> str:
        name, value = found.groups()
        return _option(options[name], value) if name in options else found[0]

    if isinstance(error, ParameterError) and error.parameter in options:
        said = _option(options[error.parameter], None)
        error.problem = said + error.problem.removeprefix(error.parameter)
    error.problem = _QUOTED.sub(quoted, error.problem)
    error.remedy = _QUOTED.sub(quoted, error.remedy)
    error.args = (f"{error.problem} {error.remedy}".strip(),)


def _names(parameter: Any) -> list[str]:
    """What the library may call an option's value: as the command's function does, or as the option."""
    return [parameter.name, *(option.lstrip("-").replace("-", "_") for option in parameter.opts)]


def _option(parameter: Any, value: str | None) -> str:
    longest = max(parameter.opts, key=len)
    if parameter.param_type_name == "argument":
        name = parameter.display_name_raw.upper()
        return name if value is None else f"{name} {value}"
    if value == "False" and parameter.secondary_opts:
        return str(parameter.secondary_opts[0])
    if value is None or value == "True":
        return str(longest)
    return f"{longest} {value.strip(chr(39) + chr(34))}"
