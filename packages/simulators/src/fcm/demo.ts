import { type Demo, hex, makeRsaKey, serviceClass } from '../demo.ts'
import { startFcmSimulator } from './simulator.ts'

const emailOf = (projectId: string) => `firebase-adminsdk@${projectId}.iam.gserviceaccount.com`

export const demo: Demo<{ projectId: string; keyId: string; key: string }> = {
  makeCredentials: async () => ({
    projectId: `herald-demo-${hex(3)}`,
    keyId: hex(20),
    key: await makeRsaKey(),
  }),
  certificate: ({ projectId, keyId, key }) => ({
    appId: projectId,
    appKey: '',
    appSecret: '',
    certificate: JSON.stringify({
      type: 'service_account',
      project_id: projectId,
      private_key_id: keyId,
      private_key: key,
      client_email: emailOf(projectId),
      token_uri: 'https://oauth2.googleapis.com/token',
    }),
    extra: serviceClass,
  }),
  devices: [
    { guid: 'demo-pixel', platform: 'android', owned: true, alias: 'alice' },
    { guid: 'demo-several', platform: 'android', alias: 'bob' },
  ],
  token: (hash) => `${hash.toString('base64url').slice(0, 22)}:APA91b${hash.toString('base64url')}`,
  async start({ projectId, key }, mode) {
    const account = { clientEmail: emailOf(projectId), key, projects: [projectId] }
    const simulator = await startFcmSimulator({ ...mode, accounts: [account], devicePerMinute: Infinity })
    return { simulators: [simulator], urls: { fcm: simulator.url, fcmToken: simulator.url } }
  },
}
