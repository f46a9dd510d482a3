-- Who is signed in to the console. Rows rather than signed cookies, because signing out must hold on every process.
CREATE TABLE console_session (
  -- SHA-256 of the cookie: who reads the table cannot sign in with it.
  key_hash   bytea PRIMARY KEY,
  -- Null: the operator.
  app_id     text REFERENCES application (id) ON DELETE CASCADE,
  -- What must still be true for the session to count: see the console's sessions.
  stamp      text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX console_session_expiry ON console_session (expires_at);
CREATE INDEX console_session_app ON console_session (app_id);
