local keys = KEYS[1] .. 'keys'
local newest, at = redis.call('LINDEX', keys, 0), false
for _, held in ipairs(redis.call('LRANGE', keys, 0, 1)) do
  if string.match(held, '^%d+') == ARGV[1] then at = held end
end
if not at then return 0 end
local seen = KEYS[1] .. 'seen:' .. at
if redis.call('SADD', seen, ARGV[2]) == 0 then return 0 end
if at == newest and redis.call('SCARD', seen) >= tonumber(ARGV[3]) then
  redis.call('LPUSH', keys, ARGV[4])
  local old = redis.call('LINDEX', keys, 2)
  if old then redis.call('UNLINK', KEYS[1] .. 'seen:' .. old) end
  redis.call('LTRIM', keys, 0, 1)
end
return 1
