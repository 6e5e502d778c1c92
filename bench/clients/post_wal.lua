-- SPDX-License-Identifier: Apache-2.0

-- For wrk: posts WAL entries of so many agents in turn, each numbered on: wrk … -s post_wal.lua URL
-- -- AGENTS. With 0 agents none is named. At the end it prints one line of JSON.

local agents, number, body

-- Runs in the thread that sends. There is one (-t1): a second would send the same entries.
function init(arguments)
   agents = tonumber(arguments[1])
   number = 0
   body = '{"type":"wal_entry","timestamp":1705392000,"data":{"operation":"state_update",' ..
      '"params":{"status":"acting","note":"the same for all"},"sequence":1%08d}}' -- all of one length
end

function request()
   local entry = string.format(body, math.floor(number / math.max(agents, 1)))
   local query = agents > 0 and "?agent=agent-" .. number % agents or ""
   number = number + 1
   return "POST " .. wrk.path .. query .. " HTTP/1.1\r\nHost: " .. wrk.host ..
      "\r\nContent-Type: application/json\r\nContent-Length: " .. #entry .. "\r\n\r\n" .. entry
end

-- What it prints at the end.
dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")
