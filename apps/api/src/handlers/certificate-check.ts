import type { ChannelAdapter } from '@herald/channels'
import {
  certificateAt,
  noteCertificateError,
  reopenCertificate,
  type StoredCertificate,
} from '@herald/db/certificates'
import { z } from 'zod'
import { type Context, route } from '../route.ts'
import { adapterOf, place, placeOf, readSettings, unconfigured } from './certificate-place.ts'

const CHECK_MS = 20_000

export const checkCertificate = route({
  method: 'post',
  path: '/admin/push/certificate/check',
  tag: 'Certificates',
  access: 'admin',
  groupRefused: true,
  summary: 'Ask the vendor whether a certificate is good',
  description: 'A good answer opens a closed channel at once.',
  example: { provider: 2 },
  input: z.strictObject(place),
  answer: z.object({
    ok: z.boolean(),
    problem: z.string().nullable(),
    temporary: z.boolean().describe('The vendor could not be asked just now; the certificate may be good.'),
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
    if (!result.temporary) await noteCertificateError(deps.db, stored.id, result.problem)
    return { ok: false, problem: result.problem, temporary: result.temporary }
  },
})

async function askVendor({ deps }: Context, adapter: ChannelAdapter, stored: StoredCertificate) {
  const transport = adapter.open(readSettings(adapter, stored), deps.transportDeps(stored.id))
  try {
    return await transport.check(AbortSignal.timeout(CHECK_MS))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ok: false as const, problem: `The vendor could not be asked: ${reason}`, temporary: true }
  } finally {
    await transport.close()
  }
}
