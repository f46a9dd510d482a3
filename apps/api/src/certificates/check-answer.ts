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
