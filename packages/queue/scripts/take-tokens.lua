-- Token buckets: takes up to as many tokens as wanted from each.
-- KEYS  one bucket each, all with the same hash tag: a hash of t = tokens, at = when they were counted (ms)
-- ARGV  for each bucket three: tokens per second, most it holds, tokens wanted
-- Gives for each bucket two: tokens granted, tokens left as text (they are fractions)
-- A full bucket is no key: it expires when it would be full again.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answers = {}
for i, key in ipairs(KEYS) do
  local rate, burst, wanted = tonumber(ARGV[i * 3 - 2]), tonumber(ARGV[i * 3 - 1]), tonumber(ARGV[i * 3])
  local bucket = redis.call('HMGET', key, 't', 'at')
  local tokens = burst
  if bucket[1] then
    local passed = math.max(0, now - tonumber(bucket[2]))
    tokens = math.min(burst, tonumber(bucket[1]) + passed * rate / 1000)
  end
  local granted = math.min(wanted, math.floor(tokens))
  tokens = tokens - granted
  if tokens < burst then
    redis.call('HSET', key, 't', tostring(tokens), 'at', now)
    redis.call('PEXPIRE', key, math.ceil((burst - tokens) / rate * 1000) + 1000)
  end
  answers[#answers + 1] = granted
  answers[#answers + 1] = tostring(tokens)
end
return answers
