import { type HonorSimulatorOptions, startHonorSimulator } from '@herald/simulators/honor'
import { adapter as honor } from '../../src/honor/channel.ts'
import { describeContract } from '../contract.ts'
import { sampleCertificate } from '../samples.ts'

const app = { appId: '104436234', clientId: 'c-1', clientSecret: 's3cr3t-of-the-app' }

function describeWith(name: string, options: HonorSimulatorOptions): void {
  describeContract(name, {
    adapter: honor,
    async start() {
      const simulator = await startHonorSimulator({ credentials: [app], ...options })
      const certificate = sampleCertificate('honor', {
        appId: app.appId,
        appKey: app.clientId,
        appSecret: app.clientSecret,
      })
      return {
        simulator,
        certificate,
        bad: { ...certificate, appSecret: 'not-the-secret' },
        urls: { honor: simulator.url, honorAuth: simulator.url },
        kill: simulator.kill,
        registerReceipts: (url) => simulator.registerReceipts({ appId: app.appId, url }),
      }
    },
    token: (index) => `BAEAAAAAB${String(index).padStart(90, 'x')}`,
    expiringAuth: true,
    oversize: { ext: JSON.stringify({ blob: 'x'.repeat(5000) }) },
  })
}

describeWith('honor', {})
describeWith('honor with code "80000000", the older token path and 429', {
  successCode: 80000000,
  textCodes: true,
  olderAuthPath: true,
  throttleStatus: 429,
})
