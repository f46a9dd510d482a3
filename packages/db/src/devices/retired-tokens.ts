/**
 * Keeps the vendor tokens of deleted bindings, `gone` with their columns: late receipts find their device, and a wrong mass
 * retirement can be undone. Sorted, like all that several lock at once. `reason` is an SQL expression.
 */
export function retireSql(gone: string, reason: string): string {
  return `INSERT INTO retired_token (app_id, channel, token, device_id, environment, bundle_id, registered_at, reason)
  SELECT app_id, channel, token, device_id, environment, bundle_id, registered_at, ${reason} FROM ${gone}
  ORDER BY app_id, channel, token
  ON CONFLICT (app_id, channel, token) DO UPDATE SET device_id = excluded.device_id, environment = excluded.environment,
    bundle_id = excluded.bundle_id, registered_at = excluded.registered_at, retired_at = now(), reason = excluded.reason`
}
