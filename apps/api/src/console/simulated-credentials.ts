import { certificateAt, saveCertificate } from '@herald/db/certificates'
import { publicName } from '@herald/domain'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import { route } from '../route.ts'

/** Lets a new application send before anybody has credentials of a vendor. */
export const addSimulatedCredentials = route({
  method: 'post',
  path: '/console/simulated-credentials',
  tag: 'Console',
  access: 'console',
  groupRefused: true,
  summary: 'Add credentials of the simulated vendors to an application',
  description: 'Channels that have a production certificate keep it.',
  input: z.strictObject({}),
  answer: z.object({ channels: z.array(z.string()).describe('Channels that got one.') }),
  failures: [40005],
  async handler(context) {
    const { deps, appId } = context
    if (appId === '') throw new Failure(40005, 'The header app_id is missing.')
    const added: string[] = []
    for (const channel of deps.simulation?.channels ?? []) {
      const place = { application: appId, channel, environment: 'production' as const }
      if (await certificateAt(deps.db, deps.sealer, place)) continue
      const fields = await deps.simulation!.makeCertificate(channel)
      const name = `Simulated ${publicName(channel)}`
      await saveCertificate(deps.db, deps.sealer, { ...place, ...fields, name }, byOf(context))
      added.push(publicName(channel))
    }
    deps.certificates.forget(appId)
    return { channels: added }
  },
})
