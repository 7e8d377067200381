-- Keys change in place, so If-Match needs a number that every change raises; tenants change their own keys: what a key
-- may do and how long, never its token.
alter table tk.api_keys add column version int not null default 1;
grant update (scopes, preset, version) on tk.api_keys to tk_api;
