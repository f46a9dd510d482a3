-- What workers and gateways sent, by channel and minute, for the figures of the console. Each process adds what it gathered every few
-- seconds. These are rates: the counters of tasks are exact, these rows are not.
CREATE TABLE channel_minute (
  -- Empty: the sum of all applications.
  app_id         text NOT NULL,
  minute         timestamptz NOT NULL,
  channel        text NOT NULL,
  -- 0: the native channel, or the sum of all applications.
  certificate_id bigint NOT NULL,
  -- Devices.
  sent           bigint NOT NULL,
  failed         bigint NOT NULL,
  -- The same by tens of seconds.
  sent_parts     bigint[] NOT NULL,
  failed_parts   bigint[] NOT NULL,
  -- Attempts, one per device: those that the vendor decided, and those that it did not.
  answered       bigint NOT NULL,
  unanswered     bigint NOT NULL,
  error_code     text,
  error_text     text,
  error_at       timestamptz,
  sent_at        timestamptz,
  PRIMARY KEY (app_id, minute, channel, certificate_id)
) WITH (fillfactor = 50);
CREATE INDEX channel_minute_age ON channel_minute (minute);

-- When the vendor last accepted a message or a check with the credentials of a certificate, to the hour. A time before the last save is about
-- other credentials. Not a column of certificate: its trigger would make all processes read the certificate again.
CREATE TABLE certificate_use (
  certificate_id bigint PRIMARY KEY REFERENCES certificate ON DELETE CASCADE,
  worked_at      timestamptz NOT NULL
);
