-- A run knows which of its claims have an outcome in the log, and finds them by their key. Only processes of an earlier release still
-- write the column `recorded`.

drop index work.delivery_claim_by_run;
