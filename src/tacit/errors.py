"""What can go wrong, as one tree.

::

    TacitError
    ├── InputError            what was given cannot be used
    │   ├── ParameterError    a parameter lies outside its range
    │   ├── LogError          a search log cannot be read as one
    │   └── TaxonomyError     a topic tree cannot be read as one
    ├── InfeasibleError       no result satisfies the parameters; nothing is written
    ├── BudgetError           a ledger refuses to spend more than it holds
    └── IntegrityError        a stored file is not what it claims to be
    PrivacyWarning            what was asked for protects weakly, or not at all

An error says what was found, which rule it breaks and what to do about it. It never contains
query text, a user id, a profile or a secret: messages end up in terminals, logs and bug reports.
"""


class TacitError(Exception):
    """Base of all errors that Tacit raises on purpose.

    Args:
        problem: what was found and the rule it breaks, in one sentence.
        remedy: what the reader can do about it.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem} {remedy}".strip())
        self.problem = problem
        self.remedy = remedy


class InputError(TacitError):
    """What was given cannot be used."""


class ParameterError(InputError):
    """A parameter lies outside its range.

    Messages speak of the library's parameters, by name or between backticks (```epsilon=50```); the command
    line says the same of its options (:mod:`tacit.commands.verbs`) and exits with 2, as for any wrong
    usage. What is wrong only for the data at hand (more users than a bound says) is another error, and exits
    with 1: the same words may be right for another log.

    >>> raise ParameterError.outside("epsilon", -1, "greater than 0")
    Traceback (most recent call last):
    tacit.errors.ParameterError: epsilon must be greater than 0; found -1.
    """

    parameter: str = ""
    """The parameter's name, where the message begins with it."""

    @classmethod
    def outside(cls, name: str, found: object, rule: str, remedy: str = "") -> "ParameterError":
        """The usual form: ``name must be rule; found value``."""
        plain = type(found).__str__ is object.__str__ and type(found).__repr__ is object.__repr__
        error = cls(f"{name} must be {rule}; found {type(found).__name__ if plain else found}.", remedy)
        error.parameter = name
        return error


class LogError(InputError):
    """A search log cannot be read as one."""


class TaxonomyError(InputError):
    """A topic tree cannot be read as one."""


class InfeasibleError(TacitError):
    """No result satisfies the parameters."""


class BudgetError(TacitError):
    """A ledger refuses to spend more than it holds."""


class IntegrityError(TacitError):
    """A stored file is not what it claims to be."""


class PrivacyWarning(UserWarning):
    """What was asked for protects weakly, or not at all."""
