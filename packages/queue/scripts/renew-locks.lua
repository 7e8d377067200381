-- Renews lane locks; one that is missing (flushed, run out) is set again.
-- KEYS  one lock each, all with the same hash tag
-- ARGV  1 my boot id, 2 time to live in ms
-- Gives a flat list of those that another holds: position (from 1), its boot id, position, its boot id …
local others = {}
for i, key in ipairs(KEYS) do
  local holder = redis.call('GET', key)
  if holder == ARGV[1] then
    redis.call('PEXPIRE', key, ARGV[2])
  elseif not holder then
    redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
  else
    others[#others + 1] = i
    others[#others + 1] = holder
  end
end
return others
