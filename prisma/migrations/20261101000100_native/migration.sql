-- A native message stands in the inbox until it is acknowledged, expired or cancelled. A recipient of a native batch that
-- could not be written to has the letter i in the batch's status: it is pending in the inbox from then on.

ALTER TABLE inbox
  -- When the next channel gets its turn if nothing was acknowledged; null = never.
  ADD COLUMN fallback_at timestamptz,
  -- Channels the device was tried on before the native one.
  ADD COLUMN tried text[] NOT NULL DEFAULT '{}';
CREATE INDEX inbox_fallback ON inbox (fallback_at) WHERE fallback_at IS NOT NULL;
-- What keeps a task from being finished.
CREATE INDEX inbox_open ON inbox (task_id) WHERE sent_at IS NULL OR fallback_at IS NOT NULL;
