-- herald: outside a transaction
-- Finds the retired tokens of a device that is erased.
DROP INDEX IF EXISTS retired_token_device;
CREATE INDEX CONCURRENTLY retired_token_device ON retired_token (device_id);
