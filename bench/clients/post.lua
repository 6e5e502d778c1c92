-- SPDX-License-Identifier: Apache-2.0

-- For wrk: posts the claim again and again, each time with another id of the same length, since
-- JetStream would take the same message twice for a duplicate. With --, what to send and the first
-- number, and perhaps a file with a token: wrk … -s post.lua URL -- FILE FIRST [TOKEN-FILE]. At the
-- end it prints one line of JSON.
--
-- For speed a request is put together from two strings and a number, not by wrk.format.

local before, after, number

-- Runs in the thread that sends. There is one (-t1): a second would send the same ids.
function init(arguments)
   local file = assert(io.open(arguments[1], "rb"))
   local claim = file:read("*a")
   file:close()
   local head, tail = claim:match('^({"id":"MSG%-)%d%d%d%d%d%d%d%d%d%d%d(".*)$')
   assert(head, "the file does not begin with an id that can be changed")
   local authorization = ""
   if arguments[3] then
      authorization = "\r\nAuthorization: Bearer " .. assert(io.open(arguments[3], "rb")):read("*l")
   end
   before = "POST " .. wrk.path .. " HTTP/1.1\r\nHost: " .. wrk.host ..
      authorization .. "\r\nContent-Type: application/json\r\nContent-Length: " .. #claim .. "\r\n\r\n" .. head
   after = tail
   number = tonumber(arguments[2])
end

function request()
   number = number + 1
   return before .. string.format("%011d", number) .. after
end

-- What it prints at the end.
dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")
