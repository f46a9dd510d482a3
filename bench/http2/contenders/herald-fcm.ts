import { openPool } from '@herald/http2'
import { runContender } from '../contender.ts'
import { bearer, ca, fcmMessage, fcmProject, registrationToken } from '../workload.ts'

const [before = '', after = ''] = JSON.stringify({ message: { ...fcmMessage, token: 'SLOT' } }).split('SLOT')

await runContender(registrationToken, async (port) => {
  const pool = openPool({ origin: `https://localhost:${port}`, tls: { ca }, maxConnections: 1 })
  return {
    send: async (tokens) => {
      const failures: string[] = []
      await pool.multicast({
        count: tokens.length,
        headers: { authorization: bearer, 'content-type': 'application/json' },
        path: `/v1/projects/${fcmProject}/messages:send`,
        body: { before, slot: (index) => tokens[index]!, after },
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
