-- SPDX-License-Identifier: Apache-2.0

-- For wrk: posts Round Table requests with ids of their own, and with the word `claims` a claim of an
-- earlier one after each: wrk … -s post_tasks.lua URL -- requests|claims. The claimed request was
-- sent LAG requests before, so that it is stored by then. At the end it prints one line of JSON.

local LAG = 1000
local head, requests, claims, number

local function message(kind, more)
   return '{"id":"%08x-0000-4000-8000-' .. kind .. '","version":"1.0.0",' .. more ..
      '"timestamp":"' .. os.date("!%Y-%m-%dT%H:%M:%SZ") .. '"}'
end

-- Runs in the thread that sends. There is one (-t1): a second would send the same ids.
function init(arguments)
   number = 0
   head = "POST " .. wrk.path .. " HTTP/1.1\r\nHost: " .. wrk.host ..
      "\r\nContent-Type: application/json\r\nContent-Length: "
   requests = message("000000000001", '"type":"task.request","from":"pilot",' ..
      '"payload":{"task":"code.review","params":{"path":"src/main.c","depth":3}},')
   if arguments[1] == "claims" then
      claims = message("000000000002", '"type":"task.claimed","from":"galahad",' ..
         '"correlationId":"%08x-0000-4000-8000-000000000001","payload":{},')
   end
end

local function post(body)
   return head .. #body .. "\r\n\r\n" .. body
end

function request()
   number = number + 1
   if not claims then
      return post(string.format(requests, number))
   end
   local pair = math.floor(number / 2)
   if number % 2 == 0 and pair > LAG then
      return post(string.format(claims, pair, pair - LAG))
   end
   return post(string.format(requests, number % 2 == 0 and pair + 0x80000000 or pair + 1))
end

-- What it prints at the end.
dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")
