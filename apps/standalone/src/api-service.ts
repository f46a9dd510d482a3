import { tuneServer, type WiredApi, wireApi } from '@herald/api'
import { sleep } from '@herald/async'
import { checkApplicationSecret, findApplication } from '@herald/db/tenants'
import type { Service } from '@herald/program'
import { serveDemo } from '@herald/worker-native'
import { type DemoCredentials, newDemoCertificate } from './demo/credentials.ts'
import { closeDemoCertificates, seedDemo } from './demo/seed.ts'
import type { Simulation } from './demo/simulators.ts'
import type { DemoFile } from './demo-file.ts'
import type { Listener } from './listener.ts'
import { renewToken } from './token-renewal.ts'

/** What the parts of the standalone use in addition to the context of every service. */
export type PartDeps = {
  listener: Listener
  /** False: the database belongs to others, or the real vendors are called. */
  hasDemo: boolean
  demo: DemoFile
  credentials: DemoCredentials
  simulation: Simulation
}

const DAY_MS = 86_400_000
/** Requests still running after this time are cut off: a client that never stops reading would block the shutdown. */
const DRAIN_MS = 10_000

/** The HTTP interface, served on the listener once the demo application, if there is one, is complete. */
export function apiService({ listener, hasDemo, demo, credentials, simulation }: PartDeps): Service {
  tuneServer(listener.server)
  return {
    name: 'api',
    async start(context) {
      const api = await wireApi(context, {
        overrides: { simulation: { channels: simulation.channels, makeCertificate: newDemoCertificate } },
      })
      const { appId, appSecret } = credentials.application
      demo.add({ simulators: simulation.urls })
      if (!context.settings.simulators) await closeDemoCertificates(api.deps, credentials)
      if (hasDemo) {
        const { application, userId } = await seedDemo(api.deps, credentials, simulation)
        demo.add({
          app_id: appId,
          // It may have been replaced since.
          ...((await checkApplicationSecret(context.db, appId, appSecret)) && { app_secret: appSecret }),
          admin_token: adminToken(api, appId, application.tokenVersion),
          user: { user_id: Number(userId), ...credentials.user },
        })
      }
      // The token expires after HERALD_TOKEN_DAYS, and the process may run longer.
      const renewal = setInterval(() => {
        if (!hasDemo) return
        void renewToken({
          findApplication: () => findApplication(context.db, appId),
          write: (version) => demo.add({ admin_token: adminToken(api, appId, version) }),
          log: context.log,
        })
      }, DAY_MS)

      const inFlight = new Set<unknown>()
      listener.serve((request, response) => {
        inFlight.add(response)
        response.on('close', () => inFlight.delete(response))
        if (!serveDemo(request, response)) api.app(request, response)
      })
      return {
        waiting: async () => (await api.deps.waiting())[0],
        async stop() {
          clearInterval(renewal)
          listener.serve(undefined)
          for (const end = performance.now() + DRAIN_MS; inFlight.size > 0 && performance.now() < end; )
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
