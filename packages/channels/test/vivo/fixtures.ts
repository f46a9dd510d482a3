import type { Certificate } from '../../src/channel.ts'
import { sampleCertificate } from '../samples.ts'

export const vivoCredential = {
  appId: 105550001,
  appKey: 'a1b2c3d4e5f60718293a4b5c6d7e8f90',
  appSecret: '3f0c2a9e-6b1d-4c7a-8e55-91d0c4b7a2f6',
}

export function vivoCertificate(over: Partial<Certificate> = {}): Certificate {
  return sampleCertificate('vivo', { ...vivoCredential, appId: '105550001', ...over })
}

/** The older form, 23 digits. */
export const vivoToken = (index: number) => `15638535410301${String(index).padStart(9, '0')}`
