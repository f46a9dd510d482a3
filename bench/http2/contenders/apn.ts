import { generateKeyPairSync } from 'node:crypto'
import apn from 'apn'
import { runContender } from '../contender.ts'
import { apnsHeaders, apnsPayload, ca, deviceToken } from '../workload.ts'

/** Recipients per `send`: fewer leave streams idle, more wait in the library's own queue. */
const chunk = 1_000

await runContender(deviceToken, async (port) => {
  const key = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  })
  const options = { address: 'localhost', port, ca: [ca], production: false, requestTimeout: 60_000 }
  const token = { key: key.toString(), keyId: 'ABCDE12345', teamId: 'ABCDE12345' }
  const provider = new apn.Provider({ ...options, token })
  const note = new apn.Notification()
  note.topic = apnsHeaders['apns-topic']
  note.pushType = 'alert'
  note.priority = 10
  note.expiry = Number(apnsHeaders['apns-expiration'])
  note.collapseId = apnsHeaders['apns-collapse-id']
  note.rawPayload = apnsPayload
  return {
    send: async (tokens) => {
      for (let at = 0; at < tokens.length; at += chunk) {
        const { failed } = await provider.send(note, tokens.slice(at, at + chunk))
        if (failed.length > 0) throw new Error(`${failed.length} failed: ${JSON.stringify(failed[0])}`)
      }
    },
    close: async () => {
      await provider.shutdown()
    },
  }
})
