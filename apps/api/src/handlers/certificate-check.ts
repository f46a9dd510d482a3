import type { ChannelAdapter } from '@herald/channels'
import {
  certificateAt,
  recordCertificateError,
  reopenCertificate,
  type StoredCertificate,
} from '@herald/db/certificates'
import { z } from 'zod'
import { adapterOf, place, placeOf, readSettings, unconfigured } from '../certificates/place.ts'
import { type RouteContext, route } from '../route.ts'

const CHECK_MS = 20_000

export const checkCertificate = route({
  method: 'post',
  path: '/admin/push/certificate/check',
  tag: 'Certificates',
  access: 'admin',
  groupRefused: true,
  summary: 'Check a certificate with the vendor',
  description: 'If the vendor accepts it, a closed channel is opened again at once.',
  example: { provider: 2 },
  input: z.strictObject(place),
  answer: z.object({
    ok: z.boolean(),
    problem: z.string().nullable(),
    temporary: z.boolean().describe('The vendor could not be reached; the certificate may be valid.'),
  }),
  async handler(context, input) {
    const { deps } = context
    const where = placeOf(context, input)
    const adapter = adapterOf(context, where.channel)
    const stored = await certificateAt(deps.db, deps.sealer, where)
    if (!stored) throw unconfigured(where)
    const result = await askVendor(context, adapter, stored)
    if (result.ok) {
      await reopenCertificate(deps.db, stored.id)
      deps.certificates.forget(context.appId)
      return { ok: true, problem: null, temporary: false }
    }
    if (!result.temporary) await recordCertificateError(deps.db, stored.id, result.problem)
    return { ok: false, problem: result.problem, temporary: result.temporary }
  },
})

async function askVendor({ deps }: RouteContext, adapter: ChannelAdapter, stored: StoredCertificate) {
  const transport = adapter.open(readSettings(adapter, stored), deps.transportDeps(stored.id))
  try {
    return await transport.check(AbortSignal.timeout(CHECK_MS))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ok: false as const, problem: `The vendor could not be reached: ${reason}`, temporary: true }
  } finally {
    await transport.close()
  }
}
