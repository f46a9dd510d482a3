import type { EventName } from '@herald/domain'

type CertificateEvent = Extract<EventName, `certificate.${string}`>

/**
 * Tells applications about certificates, in the statement or transaction that changes them. `from` has the rows as `c` (id, app_id, channel,
 * environment, region); `code` and `text` are why.
 */
export function addCertificateEventsSql(
  kind: CertificateEvent,
  from: string,
  {
    code = 'NULL',
    text = 'NULL',
    detail = `'{}'::jsonb`,
  }: { code?: string; text?: string; detail?: string } = {},
): string {
  return `INSERT INTO outbox (app_id, kind, channel, code, text, detail)
  SELECT c.app_id, '${kind}', c.channel, ${code}::text, ${text}::text, jsonb_build_object('certificate_id', c.id,
    'environment', CASE c.environment WHEN 1 THEN 'production' ELSE 'development' END, 'region', nullif(c.region, '')) || ${detail}
  FROM ${from}`
}

export const addClosedSql = addCertificateEventsSql('certificate.closed', 'certificate c WHERE c.id = $1', {
  code: '$2',
  text: '$3',
})

/** With the time since which it was closed, Unix seconds. */
export const addReopenedSql = addCertificateEventsSql(
  'certificate.reopened',
  'certificate c WHERE c.id = $1',
  {
    detail: `jsonb_build_object('closed_at', $2::bigint)`,
  },
)
