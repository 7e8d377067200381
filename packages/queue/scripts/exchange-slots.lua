-- Tells what a worker uses of its tenants' turn slots and reads what all workers use together.
-- KEYS  1 totals: tenant -> slots used by all, 2 beats: boot id -> time of its last exchange, 3 what I used last time
-- ARGV  1 my boot id, 2 workers silent for this long (ms) count as gone, 3 key of a worker's use without its boot id,
--       then tenant, slots, tenant, slots … : what I use now; tenants left out use nothing
-- Gives the totals as a flat list: tenant, slots, tenant, slots …
-- The totals are kept by differences, so that an exchange costs what changed, not what all workers use.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function change(tenant, by)
  if by ~= 0 and redis.call('HINCRBY', KEYS[1], tenant, by) <= 0 then redis.call('HDEL', KEYS[1], tenant) end
end

local function forget(used)
  local before = redis.call('HGETALL', used)
  for i = 1, #before, 2 do change(before[i], -before[i + 1]) end
  redis.call('DEL', used)
end

for _, boot in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[2])) do
  if boot ~= ARGV[1] then
    forget(ARGV[3] .. boot)
    redis.call('ZREM', KEYS[2], boot)
  end
end

local before = {}
local last = redis.call('HGETALL', KEYS[3])
for i = 1, #last, 2 do before[last[i]] = tonumber(last[i + 1]) end
for i = 4, #ARGV, 2 do
  local tenant, slots = ARGV[i], tonumber(ARGV[i + 1])
  change(tenant, slots - (before[tenant] or 0))
  redis.call('HSET', KEYS[3], tenant, slots)
  before[tenant] = nil
end
for tenant, slots in pairs(before) do
  change(tenant, -slots)
  redis.call('HDEL', KEYS[3], tenant)
end
redis.call('ZADD', KEYS[2], now, ARGV[1])
return redis.call('HGETALL', KEYS[1])
