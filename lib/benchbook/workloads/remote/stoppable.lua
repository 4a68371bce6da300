-- A workload of sysbench that can be asked to stop: once a second each thread looks for a file named `stop` in its
-- working folder, and ends its loop when it is there. sysbench then prints its closing report as after --time.
-- sysbench ends a thread whose event() returns true (its own sysbench.lua, thread_run). The transactions are the
-- workload's own. BENCHBOOK_WORKLOAD names it: one of sysbench's, or a file.
local workload = assert(os.getenv("BENCHBOOK_WORKLOAD"), "BENCHBOOK_WORKLOAD is not set")
if workload:match("%.lua$") then dofile(workload) else require(workload) end

local of_workload, looked = event, os.time()

function event(...)
   local now = os.time()
   if now ~= looked then
      looked = now
      local asked = io.open("stop")
      if asked then
         asked:close()
         return true
      end
   end
   return of_workload(...)
end
