-- Deletes lane locks that are mine.
-- KEYS  one lock each, all with the same hash tag
-- ARGV  1 my boot id
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then redis.call('DEL', key) end
end
return 0
