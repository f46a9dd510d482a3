-- Access tokens that several certificates use together, such as the provider token of an Apple key. The key contains a hash of the
-- credential, so only a certificate with the same credential finds the row.
CREATE TABLE shared_session (
  key           text PRIMARY KEY,
  sealed        bytea,
  renew_at      timestamptz,
  expires_at    timestamptz,
  minting_until timestamptz
);
