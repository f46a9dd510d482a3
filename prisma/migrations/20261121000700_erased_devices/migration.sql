-- The numbers of devices that were erased, until the tasks that were sent to them are deleted. Their receipts are deleted, so a receipt that
-- comes a second time could not be told from a new one. Nothing connects such a number with a person.
CREATE TABLE erased_device (
  device_id bigint PRIMARY KEY,
  erased_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX erased_device_age ON erased_device (erased_at);
