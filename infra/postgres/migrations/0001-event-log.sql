-- The log of the embedded event node: what a real server keeps in its chunk files.

CREATE TABLE log.event (
  -- A byte offset as in a real log: strictly increasing, with gaps, never to be calculated with.
  position  bigint PRIMARY KEY,
  stream    text COLLATE "C" NOT NULL,
  revision  bigint NOT NULL CHECK (revision >= 0),
  id        uuid NOT NULL,
  type      text NOT NULL,
  is_json   boolean NOT NULL,
  data      bytea NOT NULL,
  metadata  bytea NOT NULL,
  -- Ticks of 100 ns since the Unix epoch, as the protocol gives them out.
  created   bigint NOT NULL,
  UNIQUE (stream, revision)
);

-- Who may write. Every commit compares and sets this row, so a writer that lost its lock cannot commit.
CREATE TABLE log.node_epoch (
  only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  epoch     bigint NOT NULL,
  -- Where the next event goes.
  log_end   bigint NOT NULL
) WITH (fillfactor = 10);

INSERT INTO log.node_epoch (epoch, log_end) VALUES (0, 64);
