-- No statement may outlive its caller: the client gives up after 10 seconds, and a statement that
-- went on would hold its row locks against the repeat. It applies to new connections.
do $$
begin
  execute format('alter database %I set statement_timeout = %L', current_database(), '8s');
end
$$;
