local driver = redis.call('GET', KEYS[1])
if driver and driver ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
