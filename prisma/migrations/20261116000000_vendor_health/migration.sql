-- Vendors that misbehave: certificates that are probed and opened again, breakers, holds, and regions.

-- refused_at: the first refusal without a success since. probe_at: when a closed one is checked next; of an open one, before when no other
-- process checks it.
ALTER TABLE certificate
  ADD COLUMN region     text NOT NULL DEFAULT '',
  ADD COLUMN refused_at timestamptz,
  ADD COLUMN closed_at  timestamptz,
  ADD COLUMN probe_at   timestamptz,
  ADD COLUMN probes     integer NOT NULL DEFAULT 0;
-- certificate_one stays: programs of the release before save with ON CONFLICT on its columns. The first save of another region drops it.
CREATE UNIQUE INDEX certificate_place ON certificate (app_id, channel, environment, region);
CREATE INDEX certificate_probe ON certificate (probe_at) WHERE state = 'closed';
UPDATE certificate SET refused_at = last_error_at, closed_at = last_error_at WHERE state = 'closed';

-- Certificates whose vendor does not answer: their batches wait in the database, and one at a time is sent as a probe. No row: the vendor answers.
CREATE TABLE breaker (
  certificate_id bigint PRIMARY KEY REFERENCES certificate (id) ON DELETE CASCADE,
  opened_at      timestamptz NOT NULL DEFAULT now(),
  failures       integer NOT NULL,
  -- When the next probe may be sent; moved ahead by the worker that sends it, so that one is in flight at a time.
  retry_at       timestamptz NOT NULL,
  code           text NOT NULL,
  text           text NOT NULL
) WITH (fillfactor = 50);

-- Parts of a certificate that the vendor refused or whose quota is used up: a class, a topic, a notification channel. Messages of the
-- part get the stored outcome without a call until `until`.
CREATE TABLE certificate_hold (
  certificate_id bigint NOT NULL REFERENCES certificate (id) ON DELETE CASCADE,
  scope          text NOT NULL,
  kind           text NOT NULL CHECK (kind IN ('rejected', 'quota')),
  code           text NOT NULL,
  text           text NOT NULL,
  first_at       timestamptz NOT NULL DEFAULT now(),
  last_at        timestamptz NOT NULL DEFAULT now(),
  until          timestamptz NOT NULL,
  PRIMARY KEY (certificate_id, scope)
);

-- troubles: attempts in a row that the vendor throttled or did not answer. lost: leases in a row that ended without a settle.
ALTER TABLE batch
  ADD COLUMN troubles integer NOT NULL DEFAULT 0,
  ADD COLUMN lost     integer NOT NULL DEFAULT 0;

-- Region of the token, where the vendor has several and the token tells or its binding named it; empty: the vendor's usual one.
ALTER TABLE binding ADD COLUMN region text;
ALTER TABLE retired_token ADD COLUMN region text;
