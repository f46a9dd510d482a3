-- What the last look at all days has found, so that not every process has to look at all of them when it starts.
CREATE TABLE open_days (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- Of the days before this one, only those of `days` have open work. Days are numbered from that of the task id 0.
  upto     integer NOT NULL,
  days     integer[] NOT NULL,
  found_at timestamptz NOT NULL DEFAULT now()
);
