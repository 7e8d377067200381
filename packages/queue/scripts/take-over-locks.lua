-- Takes lane locks from holders that are dead or gone. A lock that has meanwhile changed hands stays as it is.
-- KEYS  one lock each, all with the same hash tag
-- ARGV  1 my boot id, 2 time to live in ms, then for each lock the boot id that no longer counts
-- Gives a flat list of those that another holds: position (from 1), its boot id, position, its boot id …
local others = {}
for i, key in ipairs(KEYS) do
  local holder = redis.call('GET', key)
  if not holder or holder == ARGV[1] or holder == ARGV[i + 2] then
    redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
  else
    others[#others + 1] = i
    others[#others + 1] = holder
  end
end
return others
