import { cardOf, type VendorChannel } from '@herald/domain'
import { idList } from '../ledger/batch-rows.ts'
import { movedAfterSql } from '../ledger/moved-devices.ts'
import { type Runner, run } from '../store/statement.ts'
import { separator } from '../store/text-columns.ts'

/** What is known about a binding and its device besides the token. */
export type BindingDetails = {
  environment: number
  region?: string
  bundleId?: string
  /** Set if the device got another user after `since`: when (Unix ms). */
  movedAt?: number
  disabled: boolean
  harmony: boolean
  ios: boolean
}

/** By position in the list of recipients. */
export type CurrentTokens = {
  /** Undefined: the device has no token on this channel. */
  tokens: readonly (string | undefined)[]
  detailsOf(position: number): BindingDetails
}

/** Most bindings have these, so they share one object. */
const usual: BindingDetails = { environment: 1, disabled: false, harmony: false, ios: false }

/**
 * Longer than a page of devices is being planned and than a transaction takes: a device that was disabled by a transaction which committed
 * after the page was read is found.
 */
const MARGIN = `interval '10 minutes'`

/**
 * Returns the current tokens of recipients on a channel. Rows of devices are read only for bindings whose device may have changed since
 * `since` (Unix ms), and where the vendor separates HarmonyOS or iOS: reading them all doubles the cost.
 */
export async function tokensOf(
  runner: Runner,
  channel: VendorChannel,
  recipients: readonly number[],
  since: number,
): Promise<CurrentTokens> {
  if (recipients.length === 0) return { tokens: [], detailsOf: () => usual }
  const { separatesHarmony, separatesIos } = cardOf(channel)
  const separated = separatesHarmony ? 'harmony' : separatesIos ? 'ios' : null
  const [row] = await run<(string | null)[]>(runner, 'tokens', tokensSql, [
    idList(recipients),
    channel,
    since,
    separated,
  ])
  const [tokens, ids, unusual] = row!.map((text) => (text === null ? [] : text.split(separator)))
  // Without ids every recipient has a token, in their order.
  const areAll = row![0] !== null && row![1] === null
  if (tokens!.length !== (areAll ? recipients : ids!).length)
    throw new Error('a vendor token contains the column separator')
  const details = readDetails(unusual!, separated)
  return {
    tokens: areAll ? tokens! : inOrder(recipients, ids!, tokens!),
    detailsOf: details.size === 0 ? () => usual : (position) => details.get(recipients[position]!) ?? usual,
  }
}

const sinceSql = 'to_timestamp($3::float8 / 1000)'
const movedSql = movedAfterSql('device', sinceSql)

// One text per column: the driver creates an object for every field of every row, which at a thousand rows costs more than the query.
// Most lists of recipients are ascending and all have a token: their ids are not sent back, and the worker does not compare them.
// OFFSET 0 makes the condition on the binding a filter before the look-up of the device; without it Postgres looks up every device.
const tokensSql = `
SELECT string_agg(token, E'\\x1f'),
  CASE WHEN array_agg(device_id) = $1::bigint[] THEN NULL ELSE array_to_string(array_agg(device_id), E'\\x1f') END,
  string_agg(concat_ws(E'\\x1e', device_id, environment, coalesce(region, ''), coalesce(bundle_id, ''), coalesce(moved_at::text, ''),
    coalesce(disabled, false), coalesce(is_separated, false)), E'\\x1f')
    FILTER (WHERE environment <> 1 OR region IS NOT NULL OR bundle_id IS NOT NULL OR disabled IS NOT NULL)
FROM (
  SELECT b.device_id, b.token, b.environment, b.region, b.bundle_id, d.moved_at, d.disabled, d.is_separated FROM binding b
  LEFT JOIN LATERAL (
    SELECT CASE WHEN ${movedSql} THEN date_part('epoch', moved_at) * 1000 END AS moved_at, NOT enabled AS disabled,
      coalesce(platform = $4::text, false) AS is_separated
    FROM device
    WHERE id = b.device_id AND (b.device_changed_at > ${sinceSql} - ${MARGIN} OR $4::text IS NOT NULL)
      AND (${movedSql} OR NOT enabled OR platform = $4::text)
    OFFSET 0
  ) d ON true
  WHERE b.device_id = ANY($1::bigint[]) AND b.channel = $2 ORDER BY b.device_id
) found`

/** The rows are ascending; the recipients may not be, and some may have no row. */
function inOrder(
  recipients: readonly number[],
  ids: string[],
  tokens: string[],
): readonly (string | undefined)[] {
  const byDevice = new Map(ids.map((id, i) => [Number(id), tokens[i]!]))
  return recipients.map((id) => byDevice.get(id))
}

function readDetails(lines: string[], separated: string | null): Map<number, BindingDetails> {
  const details = new Map<number, BindingDetails>()
  for (const line of lines) {
    const [id, environment, region, bundleId, movedAt, disabled, isSeparated] = line.split('\x1e')
    details.set(Number(id), {
      environment: Number(environment),
      region: region || undefined,
      bundleId: bundleId || undefined,
      movedAt: movedAt ? Number(movedAt) : undefined,
      disabled: disabled === 't',
      harmony: separated === 'harmony' && isSeparated === 't',
      ios: separated === 'ios' && isSeparated === 't',
    })
  }
  return details
}
