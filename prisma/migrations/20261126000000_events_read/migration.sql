-- The day (UTC) on which the application last read its events by calls. Its tasks then have events without a webhook.
ALTER TABLE application ADD COLUMN events_read_on date;
