import type { Certificate } from '../../src/channel.ts'
import { sampleCertificate } from '../samples.ts'

export const meizuCredential = { appId: 100999, appSecret: '0d1c2b3a495867761f2e3d4c5b6a7988' }

export function meizuCertificate(over: Partial<Certificate> = {}): Certificate {
  return sampleCertificate('meizu', {
    appId: '100999',
    appKey: 'f1e2d3c4b5a697887766554433221100',
    appSecret: meizuCredential.appSecret,
    ...over,
  })
}

/** As in the vendor's examples: a prefix and hex, 45 characters. */
export const meizuToken = (index: number) =>
  `RA50c6348036344485d017767735${index.toString(16).padStart(18, '0')}`
