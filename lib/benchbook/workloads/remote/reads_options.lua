-- How sysbench reads its options: makes the driver of a workload, which looks at its own, connects to nothing, and
-- prints what each option was read as. sysbench's `help` looks at no value, and takes a number that it cannot read for 0.
-- BENCHBOOK_WORKLOAD names the workload: one of sysbench's, or a file.
local workload = assert(os.getenv("BENCHBOOK_WORKLOAD"), "BENCHBOOK_WORKLOAD is not set")
local found, problem = pcall(workload:match("%.lua$") and dofile or require, workload)
-- Of a name that is nowhere, Lua lists every folder that it has looked into.
if not found then error(problem:match("[^\n]*"), 0) end

sysbench.cmdline.commands = {
   options = {
      function()
         sysbench.sql.driver()
         for name, value in pairs(sysbench.opt) do
            local read = type(value) == "table" and table.concat(value, ",") or tostring(value)
            print(string.format("read\t%s\t%s\t%s", name, type(value), read))
         end
      end
   }
}
