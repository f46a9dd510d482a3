import { openPool } from '@herald/http2'
import { runContender } from '../contender.ts'
import { apnsHeaders, apnsPayload, ca, deviceToken } from '../workload.ts'

const [before = '', after = ''] = JSON.stringify(apnsPayload).split('5,')

await runContender(deviceToken, async (port) => {
  const pool = openPool({ origin: `https://localhost:${port}`, tls: { ca }, maxConnections: 1 })
  return {
    send: async (tokens) => {
      const failures: string[] = []
      await pool.multicast({
        count: tokens.length,
        headers: apnsHeaders,
        path: (index) => `/3/device/${tokens[index]}`,
        body: { before, slot: () => '5', after: `,${after}` },
        deadlineMs: 120_000,
        onReply: (_index, reply) => {
          if (reply.status !== 200) failures.push(`status ${reply.status}`)
        },
        onFailure: (_index, failure) => failures.push(failure.message),
      })
      if (failures.length > 0) throw new Error(`${failures.length} failed: ${failures[0]}`)
    },
    close: () => pool.close(),
  }
})
