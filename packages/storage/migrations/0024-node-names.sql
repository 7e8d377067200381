-- A timeline names the processes as people know them; their rows hold nothing of any tenant.
grant select (boot_id, name) on tk.workers to tk_api;

-- How many lanes are suspended is measured every two seconds: there are few of them, and nothing else of the table is read.
create index lanes_suspended on tk.lanes (slot) where suspended;
