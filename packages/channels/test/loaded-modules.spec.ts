import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { vendorChannels } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'

/** Imports `entries`, runs `code` and returns the paths of all files that Node has loaded. */
async function loadedBy(entries: string[], code = ''): Promise<string[]> {
  const script = `
    import { registerHooks } from 'node:module'
    const urls = []
    registerHooks({ load(url, context, next) { urls.push(url); return next(url, context) } })
    const [first] = await Promise.all(${JSON.stringify(entries)}.map((entry) => import(entry)))
    ${code}
    process.stdout.write(urls.join('\\n'), () => process.exit())`
  const args = ['--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname })
  return stdout.split('\n')
}

const clients =
  /node_modules\/(apn|@parse|firebase-admin|undici|jsonwebtoken)\/|packages\/(http2|simulators)\//

describe('a process', () => {
  // Every worker needs the settings and payloads of all vendors, to choose the next channel of a failed recipient.
  it('with the runner and all adapters loads no network client, library of a vendor or simulator', async () => {
    const loaded = await loadedBy(['@herald/channels/all', '@herald/worker'])
    expect(loaded.filter((path) => path.includes('packages/channels/src/'))).not.toEqual([])
    expect(loaded.filter((path) => clients.test(path) || path.endsWith('/transport.ts'))).toEqual([])
  })

  it.each(vendorChannels)('that sends through %s loads no other transport', async (vendor) => {
    const loaded = await loadedBy(
      [`@herald/channels/${vendor}`, '@herald/channels/all'],
      `await first.adapter.open({ auth: {} }, { urls: {} }).check(AbortSignal.abort()).catch(() => {})`,
    )
    const transports = loaded.filter((path) => path.endsWith('/transport.ts'))
    expect(transports).toEqual([expect.stringContaining(`/${vendor}/transport.ts`)])
    expect(loaded.filter((path) => /\/(apn|@parse|firebase-admin)\/|reference-/.test(path))).toEqual([])
  })
})
