-- Operators split and merge partitions: which slots belong to which partition is data, and every node reads it anew.
grant select, insert, delete on tk.partitions to tk_admin;
grant select on tk.slots to tk_admin;
grant update (partition_id) on tk.slots to tk_admin;
