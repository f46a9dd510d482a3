import { setTimeout as sleep } from 'node:timers/promises'
import { tuneServer, type WiredApi, wireApi } from '@herald/api'
import { findApplication } from '@herald/db/tenants'
import type { Service } from '@herald/program'
import { answerDemo } from '@herald/worker-native'
import { seedDemo } from './demo/seed.ts'
import type { House } from './house.ts'

const dayMs = 86_400_000
/** A client that reads or writes for ever must not hold up the end. */
const patienceMs = 10_000

/** The HTTP interface on the front door, opened when the demo behind it is in order. */
export function frontApi({ door, demo, credentials, simulation }: House): Service {
  tuneServer(door.server)
  return {
    name: 'api',
    async start(context) {
      const api = await wireApi(context)
      const { application, userId } = await seedDemo(api.deps, credentials, simulation)
      const { appId, appSecret } = credentials.application
      demo.add({
        app_id: appId,
        app_secret: appSecret,
        admin_token: adminToken(api, appId, application.tokenVersion),
        user: { user_id: Number(userId), ...credentials.user },
        simulators: simulation.urls,
      })
      // It ends after days, and the file is there for as long as the process is.
      const renewal = setInterval(async () => {
        const now = await findApplication(context.db, appId).catch(() => undefined)
        if (now) demo.add({ admin_token: adminToken(api, appId, now.tokenVersion) })
      }, dayMs)

      const underWay = new Set<unknown>()
      door.serve((request, response) => {
        underWay.add(response)
        response.on('close', () => underWay.delete(response))
        if (!answerDemo(request, response)) api.app(request, response)
      })
      return {
        waiting: async () => (await api.deps.waiting())[0],
        async stop() {
          clearInterval(renewal)
          door.serve(undefined)
          for (const end = performance.now() + patienceMs; underWay.size > 0 && performance.now() < end; )
            await sleep(10)
          await api.close()
        },
      }
    },
  }
}

function adminToken({ deps }: WiredApi, app: string, version: number): string {
  return deps.sessions.tokens.issue({ app, role: 'admin', subject: app, version }).token
}
