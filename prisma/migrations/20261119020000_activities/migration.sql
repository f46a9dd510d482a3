-- Tokens of Live Activities, besides the token of the device itself. kind 'activity': name is the id of an activity on the device's screen, and
-- the token updates and ends it. kind 'start': name is the type of an activity that the token starts. The reference deletes the rows
-- with their device, also if a program of the release before deletes it.
CREATE TABLE activity (
  device_id bigint NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  kind      text NOT NULL CHECK (kind IN ('activity', 'start')),
  name      text NOT NULL,
  app_id    text NOT NULL,
  token     text NOT NULL,
  bound_at  timestamptz NOT NULL DEFAULT now(),
  -- The newest update for which a request was prepared: its place in the order (Unix ms, then the task), and the timestamp that it was sent with (Unix
  -- seconds). An update that comes before it is not sent any more.
  newest_at bigint,
  task_id   bigint,
  stamp     bigint,
  PRIMARY KEY (device_id, kind, name)
);
CREATE INDEX activity_name ON activity (app_id, name, device_id) WHERE kind = 'activity';
CREATE INDEX activity_token ON activity (token);
CREATE INDEX activity_age ON activity (bound_at);
