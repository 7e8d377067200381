-- Pages of unknown origins are turned away before a socket is opened for them, when nobody has said yet whose visitor asks.
create index account_versions_origins on tk.account_versions using gin ((config #> '{options,origins}')) where config ->> 'channel' = 'webchat';
