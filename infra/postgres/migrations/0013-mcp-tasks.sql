-- Tool calls that run as tasks (MCP 2025-11-25), so that any replica answers for them. Input and outcome are sealed under
-- the key of the principal; who runs a task is in work.lease.

create table work.mcp_task (
  task_id text primary key,
  org_id text not null,
  principal_id text not null,
  tool text not null,
  status text not null check (status in ('working', 'completed', 'failed', 'cancelled')),
  status_message text,
  input text not null,
  outcome text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  ttl_ms bigint not null,
  expires_at timestamptz not null
);
create index mcp_task_principal on work.mcp_task (org_id, principal_id, created_at, task_id);
create index mcp_task_expiry on work.mcp_task (expires_at);
