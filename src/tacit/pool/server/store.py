"""What a pool remembers: one epoch, in memory or in Redis, and nothing older.

Each change is one step, compared against the epoch's present phase: several workers may run the same pool,
and a worker that dies leaves nothing half done. In Redis every change is one script that Redis runs as a
whole, and all keys expire by themselves. Redis should keep nothing on disk (``--save '' --appendonly no``).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.errors import InputError
from tacit.pool.protocol.messages import FirstMessage, Phase, Reply, SecondMessage

if TYPE_CHECKING:
    from redis import Redis


@dataclass(frozen=True)
class Standing:
    """Where the pool stands: the epoch, its phase, and when the phase began and ends."""

    epoch: int
    phase: Phase
    since: float
    until: float


class MemoryStore:
    """What a pool remembers, inside one process; with the process it is gone.

    Everything but :meth:`advance` concerns the present epoch alone.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standing: Standing | None = None
        self._documents: dict[str, str] = {}
        self._forget()

    def _forget(self) -> None:
        self._counted: dict[str, int] = {}
        self._counts: dict[int, int] = {}
        self._sealed: dict[int, dict[str, str]] = {}
        self._asked: set[int] = set()
        self._latest = float("-inf")

    def look(self, now: float) -> float:
        """Note that a worker's clock says ``now``; the latest time that any clock said in this epoch."""
        with self._lock:
            self._latest = max(self._latest, now)
            return self._latest

    def standing(self) -> Standing | None:
        """Where the pool stands; None before its first epoch, or when the store has lost everything."""
        return self._standing

    def advance(
        self,
        seen: Standing | None,
        then: Standing,
        documents: Mapping[str, str],
        asked: set[int] | None = None,
    ) -> bool:
        """Go from ``seen`` to ``then``, if the pool still stands there; was it so?

        With a new epoch all messages and documents of the old one are forgotten. ``documents`` are kept
        for the epoch (the table, the keys); ``asked`` are the groups that may identify themselves.
        """
        with self._lock:
            if self._standing != seen:
                return False
            if seen is None or seen.epoch != then.epoch:
                self._forget()
                self._documents = {}
            self._documents.update(documents)
            if asked is not None:
                self._asked = set(asked)
            self._standing = then
            return True

    def document(self, name: str) -> str | None:
        """A document of the epoch."""
        return self._documents.get(name)

    def first(self, message: FirstMessage, capacity: int) -> Reply:
        """Take M1 if the epoch counts; a token counts once."""
        with self._lock:
            if not self._stands(message.epoch, Phase.COUNT):
                return Reply.GONE
            known = self._counted.get(message.token)
            if known is not None:
                return Reply.REPEATED if known == message.group else Reply.REFUSED
            if len(self._counted) >= capacity:
                return Reply.FULL
            self._counted[message.token] = message.group
            self._counts[message.group] = self._counts.get(message.group, 0) + 1
            return Reply.ACCEPTED

    def counts(self) -> dict[int, int]:
        """How many tokens each group counted."""
        with self._lock:
            return dict(self._counts)

    def second(self, message: SecondMessage) -> Reply:
        """Take M2 if the group is asked and its token counted for it; the first record of a token stays."""
        with self._lock:
            if not self._stands(message.epoch, Phase.IDENTIFY):
                return Reply.GONE
            if message.group not in self._asked or self._counted.get(message.token) != message.group:
                return Reply.REFUSED
            sealed = self._sealed.setdefault(message.group, {})
            if message.token in sealed:
                return Reply.REPEATED
            sealed[message.token] = message.sealed
            return Reply.ACCEPTED

    def batches(self, least: int) -> dict[int, list[str]]:
        """The sealed records of the groups that have at least ``least`` of them, in the order of tokens.

        Of other groups nothing is handed over, not even how many there are.
        """
        with self._lock:
            return {
                group: [sealed[token] for token in sorted(sealed)]
                for group, sealed in self._sealed.items()
                if len(sealed) >= least
            }

    def _stands(self, epoch: int, phase: Phase) -> bool:
        return self._standing is not None and (self._standing.epoch, self._standing.phase) == (epoch, phase)


_ADVANCE = """
local base, seen, after, fresh, life = KEYS[1], ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local stands = redis.call('GET', base .. 'standing') or ''
if stands ~= seen then return 0 end
if fresh == '1' then
  for _, group in ipairs(redis.call('SMEMBERS', base .. 'groups')) do
    redis.call('UNLINK', base .. 'sealed:' .. group)
  end
  for _, name in ipairs({'groups', 'counted', 'counts', 'asked', 'documents', 'clock'}) do
    redis.call('UNLINK', base .. name)
  end
end
for name, text in pairs(cjson.decode(ARGV[5])) do redis.call('HSET', base .. 'documents', name, text) end
redis.call('PEXPIRE', base .. 'documents', life)
if ARGV[6] ~= '' then
  redis.call('UNLINK', base .. 'asked')
  for group in string.gmatch(ARGV[6], '[^,]+') do redis.call('SADD', base .. 'asked', group) end
  redis.call('PEXPIRE', base .. 'asked', life)
end
redis.call('SET', base .. 'standing', after, 'PX', life)
return 1
"""

_LOOK = """
local latest = redis.call('GET', KEYS[1] .. 'clock')
if latest and tonumber(latest) >= tonumber(ARGV[1]) then return latest end
redis.call('SET', KEYS[1] .. 'clock', ARGV[1], 'PX', ARGV[2])
return ARGV[1]
"""

_FIRST = """
local base, group, token = KEYS[1], ARGV[2], ARGV[3]
local stands = redis.call('GET', base .. 'standing')
if not stands or string.sub(stands, 1, #ARGV[1]) ~= ARGV[1] then return 'gone' end
local known = redis.call('HGET', base .. 'counted', token)
if known then if known == group then return 'repeated' else return 'refused' end end
if redis.call('HLEN', base .. 'counted') >= tonumber(ARGV[4]) then return 'full' end
redis.call('HSET', base .. 'counted', token, group)
redis.call('HINCRBY', base .. 'counts', group, 1)
if redis.call('HLEN', base .. 'counted') == 1 then
  redis.call('PEXPIRE', base .. 'counted', ARGV[5])
  redis.call('PEXPIRE', base .. 'counts', ARGV[5])
end
return 'accepted'
"""

_SECOND = """
local base, group, token = KEYS[1], ARGV[2], ARGV[3]
local stands = redis.call('GET', base .. 'standing')
if not stands or string.sub(stands, 1, #ARGV[1]) ~= ARGV[1] then return 'gone' end
if redis.call('SISMEMBER', base .. 'asked', group) == 0 then return 'refused' end
if redis.call('HGET', base .. 'counted', token) ~= group then return 'refused' end
local sealed = base .. 'sealed:' .. group
if redis.call('HSETNX', sealed, token, ARGV[4]) == 0 then return 'repeated' end
redis.call('SADD', base .. 'groups', group)
redis.call('PEXPIRE', sealed, ARGV[5])
redis.call('PEXPIRE', base .. 'groups', ARGV[5])
return 'accepted'
"""

_BATCHES = """
local base, found = KEYS[1], {}
for _, group in ipairs(redis.call('SMEMBERS', base .. 'groups')) do
  local sealed = base .. 'sealed:' .. group
  if redis.call('HLEN', sealed) >= tonumber(ARGV[1]) then
    found[#found + 1] = group
    found[#found + 1] = redis.call('HGETALL', sealed)
  end
end
return found
"""


class RedisStore:
    """A store in Redis; see :class:`MemoryStore` for what each method does.

    Args:
        url: where Redis is, such as ``redis://127.0.0.1:6379/0``.
        name: the pool's name; pools of different names share a Redis without meeting.
        lifetime: seconds after which everything expires unless the pool goes on.
    """

    def __init__(self, url: str, name: str = "pool", lifetime: float = 600.0) -> None:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        try:
            self._redis: Redis = redis.Redis.from_url(
                url, decode_responses=True, socket_timeout=5.0, retry=Retry(NoBackoff(), 1)
            )
        except ValueError as error:
            raise InputError("the address of Redis cannot be read.", "Say redis://HOST:PORT/0.") from error
        self._base = f"tacit:{name}:"
        self._life = str(int(lifetime * 1000))
        scripts = (_LOOK, _ADVANCE, _FIRST, _SECOND, _BATCHES)
        self._scripts = {text: self._redis.register_script(text) for text in scripts}

    def _run(self, script: str, *arguments: str | int) -> Any:
        return self._scripts[script](keys=[self._base], args=list(arguments))

    def now(self) -> float:
        """Redis's own clock: the one that all workers share."""
        seconds, micros = self._redis.time()
        return float(seconds) + float(micros) / 1e6

    def look(self, now: float) -> float:
        """The latest time that any clock said in this epoch."""
        return float(self._run(_LOOK, repr(now), self._life))

    def standing(self) -> Standing | None:
        """Where the pool stands."""
        text = self._redis.get(self._base + "standing")
        if not isinstance(text, str):
            return None
        epoch, phase, since, until = text.split(" ")
        return Standing(int(epoch), Phase(phase), float(since), float(until))

    def advance(
        self,
        seen: Standing | None,
        then: Standing,
        documents: Mapping[str, str],
        asked: set[int] | None = None,
    ) -> bool:
        """Go from ``seen`` to ``then``, if the pool still stands there."""
        fresh = seen is None or seen.epoch != then.epoch
        named = "" if asked is None else ",".join(map(str, sorted(asked))) or "none"
        return bool(
            self._run(
                _ADVANCE,
                "" if seen is None else _text(seen),
                _text(then),
                "1" if fresh else "0",
                self._life,
                json.dumps(dict(documents)),
                named,
            )
        )

    def document(self, name: str) -> str | None:
        """A document of the epoch."""
        found = self._redis.hget(self._base + "documents", name)
        return found if isinstance(found, str) else None

    def first(self, message: FirstMessage, capacity: int) -> Reply:
        """Take M1 if the epoch counts."""
        where = f"{message.epoch} {Phase.COUNT} "
        return Reply(self._run(_FIRST, where, message.group, message.token, capacity, self._life))

    def counts(self) -> dict[int, int]:
        """How many tokens each group counted."""
        found: Any = self._redis.hgetall(self._base + "counts")
        return {int(group): int(number) for group, number in found.items()}

    def second(self, message: SecondMessage) -> Reply:
        """Take M2 if the group is asked and its token counted for it."""
        where = f"{message.epoch} {Phase.IDENTIFY} "
        return Reply(self._run(_SECOND, where, message.group, message.token, message.sealed, self._life))

    def batches(self, least: int) -> dict[int, list[str]]:
        """The sealed records of the groups that have at least ``least`` of them."""
        found = self._run(_BATCHES, least)
        batches = {}
        for group, flat in zip(found[::2], found[1::2], strict=True):
            sealed = dict(zip(flat[::2], flat[1::2], strict=True))
            batches[int(group)] = [sealed[token] for token in sorted(sealed)]
        return batches


PoolStore = MemoryStore | RedisStore


def _text(standing: Standing) -> str:
    return f"{standing.epoch} {standing.phase} {standing.since!r} {standing.until!r}"
