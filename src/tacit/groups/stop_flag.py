"""A flag that one thread sets and a compiled loop of another sees: Ctrl-C ends a long search at once."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

__all__ = ["is_raised"]


@intrinsic  # type: ignore[untyped-decorator]
def is_raised(_context: Any, flag: Any) -> Any:
    """Inside a compiled loop: has another thread set ``flag[0]``, a bool, since?

    A plain ``flag[0]`` may be read once before the loop begins, because nothing in the loop changes it;
    an atomic load is made every time.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte = ir.IntType(8)
        value = builder.load_atomic(builder.bitcast(array.data, byte.as_pointer()), "monotonic", 1)
        return builder.icmp_unsigned("!=", value, ir.Constant(byte, 0))

    return types.boolean(flag), generate
