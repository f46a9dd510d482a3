import { audited } from '@herald/db/ledger'
import { isUnreachable } from '@herald/db/store'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import { type ImportReport, importDevices, MAX_ERRORS } from '../import/import-devices.ts'
import { route } from '../route.ts'

export const importDeviceStream = route({
  method: 'post',
  path: '/admin/device/import',
  tag: 'Devices',
  access: 'admin',
  groupRefused: true,
  stream: true,
  summary: 'Import devices from an NDJSON stream',
  description: `One JSON object per line, at most 64 KiB each, with the fields of PUT /admin/device: a field that is absent stays as it is, null or a blank value clears it (\`bindings\`: only null), \`add_tags\` and \`remove_tags\` change single tags. A binding is replaced as a whole: send \`environment\`, \`bundle_id\` and \`region\` each time. Invalid lines are skipped and counted in \`failed\`; \`errors\` lists the first ${MAX_ERRORS}. The lines of a device are applied in order. An import can be repeated safely; note that it sets aliases and binds vendor tokens as the file says, also if they have changed since. An application may run four imports at a time in each API process; a further one is refused (42901).`,
  example:
    '{"device_guid":"example-import","platform":"android","bindings":[{"provider":2,"device_token":"example-import-token"}]}',
  input: z.unknown(),
  answer: z.object({
    lines: z.int().describe('Number of lines that were not blank.'),
    created: z.int(),
    updated: z.int(),
    unchanged: z.int().describe('Lines of known devices that changed nothing.'),
    failed: z.int(),
    errors: z.array(z.object({ line: z.int(), error: z.string() })),
  }),
  failures: [42901],
  async handler(context, body) {
    const leave = context.deps.admission.imports.enter(context.appId)
    const report: ImportReport = { lines: 0, created: 0, updated: 0, unchanged: 0, failed: 0, errors: [] }
    try {
      await audited(
        context.deps.db,
        { appId: context.appId, by: byOf(context), action: 'device.import' },
        () => importDevices(context, body as AsyncIterable<Uint8Array>, report),
        () => {
          const { errors: _errors, ...counts } = report
          return counts
        },
      )
    } catch (error) {
      if (!isUnreachable(error)) throw error
      throw new Failure(
        50301,
        `The database became unreachable after ${report.created + report.updated + report.unchanged} devices; repeating the import is safe.`,
        { retryAfter: 2 },
      )
    } finally {
      leave()
    }
    return report
  },
})
