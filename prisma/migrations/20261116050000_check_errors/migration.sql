-- The last check that a person asked for, if it failed. Apart from last_error, which is what the vendor said to a push or a probe.
ALTER TABLE certificate ADD COLUMN check_error text, ADD COLUMN check_error_at timestamptz;
