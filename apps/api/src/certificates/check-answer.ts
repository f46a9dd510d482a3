import type { Certificate, ChannelAdapter, TransportDeps } from '@herald/channels'
import { isSimulated } from '@herald/channels/simulated'
import { askVendor } from '@herald/program'
import { z } from 'zod'

/** What a vendor says about credentials. */
export const checkAnswer = z.object({
  ok: z.boolean(),
  problem: z.string().nullable(),
  code: z
    .string()
    .nullable()
    .describe(
      'Stable code of the problem, the channel and the vendor’s code with a dot between them; null if it has none.',
    ),
  temporary: z.boolean().describe('The vendor could not be reached; the certificate may be valid.'),
  simulator: z.boolean().describe('A simulator answered in place of the vendor.'),
  warnings: z.array(z.string()).describe('Parts of an accepted certificate that the vendor refuses.'),
})

export type CheckAnswer = { simulator: boolean; warnings: string[] } & (
  | { ok: true; problem: null; code: null; temporary: false }
  | { ok: false; problem: string; code: string | null; temporary: boolean }
)

export async function askForAnswer(
  adapter: ChannelAdapter,
  settings: unknown,
  certificate: Pick<Certificate, 'channel' | 'environment'> & { region?: string },
  deps: TransportDeps,
): Promise<CheckAnswer> {
  const [result, simulator] = await Promise.all([
    askVendor(adapter, settings, deps),
    isSimulated(certificate, deps),
  ])
  if (result.ok)
    return {
      ok: true,
      problem: null,
      code: null,
      temporary: false,
      simulator,
      warnings: [...(result.warnings ?? [])],
    }
  const { problem, code = null, temporary } = result
  return { ok: false, problem, code, temporary, simulator, warnings: [] }
}
