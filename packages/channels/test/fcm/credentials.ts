import { generateKeyPairSync } from 'node:crypto'
import type { Certificate } from '../../src/channel.ts'
import { sampleCertificate } from '../samples.ts'

export const projectId = 'parcel-post'
export const clientEmail = `herald@${projectId}.iam.gserviceaccount.com`

export function newAccountKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** A service-account file like those of the Firebase console. */
export function accountFile(privateKey: string, over: Record<string, unknown> = {}): string {
  return JSON.stringify({
    type: 'service_account',
    project_id: projectId,
    private_key_id: '0123456789abcdef',
    private_key: privateKey,
    client_email: clientEmail,
    client_id: '1234567890',
    auth_uri: 'https://accounts.google.com/o/oauth2/auth',
    token_uri: 'https://oauth2.googleapis.com/token',
    ...over,
  })
}

export function accountCertificate(privateKey: string, over: Partial<Certificate> = {}): Certificate {
  return sampleCertificate('fcm', { certificate: accountFile(privateKey), ...over })
}
