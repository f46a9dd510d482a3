import {
  certificateAt,
  clearHolds,
  closeBreaker,
  forgetFailedCheck,
  noteCheckedCertificate,
  recordFailedCheck,
  reopenCertificate,
} from '@herald/db/certificates'
import { clip } from '@herald/domain'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { askForAnswer, checkAnswer } from '../certificates/check-answer.ts'
import { adapterOf, placeInRegion, placeOf, readSettings, unconfigured } from '../certificates/place.ts'
import { route } from '../route.ts'

export const checkCertificate = route({
  method: 'post',
  path: '/admin/push/certificate/check',
  tag: 'Certificates',
  access: 'admin',
  groupRefused: true,
  summary: 'Check a certificate with the vendor',
  description:
    'If the vendor accepts it, a closed channel is opened again at once, and what the vendor refused before is forgotten. If not, the problem is one of the warnings of the list until a check succeeds or the certificate is saved. Sending is not affected.',
  example: { provider: 2 },
  input: z.strictObject(placeInRegion),
  answer: checkAnswer,
  async handler(context, input) {
    const { deps } = context
    const where = placeOf(context, input)
    const adapter = adapterOf(context, where.channel)
    const stored = await certificateAt(deps.db, deps.sealer, where)
    if (!stored) throw unconfigured(where)
    const settings = readSettings(adapter, stored)
    const answer = await askForAnswer(adapter, settings, stored, deps.transportDeps(stored.id))
    if (answer.ok) {
      await noteCheckedCertificate(deps.db, stored.id, stored.version)
      if (await reopenCertificate(deps.db, stored.id, { by: byOf(context) }))
        deps.meters.reopened(stored.channel)
      // The person has corrected what the vendor refused: what was remembered about it is no longer true.
      await closeBreaker(deps.db, stored.id)
      await clearHolds(deps.db, stored.id)
      await forgetFailedCheck(deps.db, stored.id)
      deps.certificates.forget(context.appId)
      return answer
    }
    const { problem, temporary, simulator } = answer
    await recordFailedCheck(deps.db, stored, {
      problem: clip(simulator ? `${problem} (answered by a simulator, not by the vendor)` : problem),
      refused: !temporary,
    })
    deps.certificates.forget(context.appId)
    return answer
  },
})
