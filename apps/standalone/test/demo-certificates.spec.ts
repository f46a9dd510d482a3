import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { certificatesOf, saveCertificate } from '@herald/db/certificates'
import { createSealer } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'
import { useDatabase } from '@herald/testkit/use-database'
import { expect, it } from '@jest/globals'
import { demoCertificate, keepDemoCredentials } from '../src/demo/credentials.ts'
import { closeDemoCertificates } from '../src/demo/seed.ts'

const db = useDatabase({ partitions: false })

it('certificates of the demo are closed without simulators, and those of others stay open', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'herald-demo-'))
  const sealer = createSealer(Buffer.alloc(32))
  try {
    const credentials = await keepDemoCredentials(dataDir)
    const { appId: application } = credentials.application
    await closeDemoCertificates({ db, sealer }, credentials)
    await createApplication(db, { ...credentials.application, name: 'demo', packageName: '' })
    for (const channel of ['huawei', 'oppo', 'apns'] as const)
      await saveCertificate(db, sealer, {
        ...{ application, channel, environment: 'production', name: '' },
        ...demoCertificate(channel, credentials),
        ...(channel === 'oppo' && { appSecret: 'of the real vendor' }),
      })
    await closeDemoCertificates({ db, sealer }, credentials)
    const states = (await certificatesOf(db, sealer, application)).map(({ channel, state }) => [
      channel,
      state,
    ])
    expect(Object.fromEntries(states)).toEqual({ apns: 'closed', huawei: 'closed', oppo: 'open' })
  } finally {
    rmSync(dataDir, { recursive: true })
  }
})
