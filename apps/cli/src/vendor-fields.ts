import type { CertificateRecord } from '@herald/client'
import { providerOf, type VendorChannel } from '@herald/domain'

type Field = Exclude<keyof CertificateRecord, 'name'>

/** One flag of `certificate set`: what the vendor's console calls it, and where it goes in the record. */
export type VendorField = {
  flag: string
  field: Field
  about: string
  /** A secret may also come from a file, where no process list shows it. */
  secret?: true
  /** The flag names a file whose content is the value; `base64` for binary ones. */
  file?: 'text' | 'base64'
}

export type Vendor = { title: string; fields: readonly VendorField[]; examples: string[] }

const text = (flag: string, field: Field, about: string): VendorField => ({ flag, field, about })
const secret = (flag: string, field: Field, about: string): VendorField => ({
  flag,
  field,
  about,
  secret: true,
})
const file = (flag: string, about: string, content: 'text' | 'base64' = 'text'): VendorField => ({
  flag,
  field: 'certificate',
  about,
  file: content,
})

const appFields = [
  text('app-id', 'app_id', 'App ID'),
  text('app-key', 'app_key', 'App Key'),
  secret('app-secret', 'app_secret', 'App Secret'),
]

/** In the words of each vendor's console. */
export const vendors: Record<VendorChannel, Vendor> = {
  apns: {
    title: 'APNs (Apple)',
    fields: [
      text('bundle-id', 'app_id', 'bundle id, the topic; may be left out with a certificate of one topic'),
      text('key-id', 'app_key', 'key id of the .p8'),
      text('team-id', 'app_secret', 'team id, with a .p8'),
      file('p8', 'the signing key, AuthKey_….p8'),
      file('p12', 'a push certificate with its key', 'base64'),
      file('pem', 'a push certificate with its key in PEM'),
      secret('passphrase', 'app_secret', 'passphrase of the .p12'),
    ],
    examples: [
      'certificate set apns --bundle-id com.example.shop --key-id ABC1234567 --team-id DEF1234567 --p8 AuthKey.p8',
      'certificate set apns --environment development --p12 push.p12 --passphrase-file passphrase.txt',
    ],
  },
  fcm: {
    title: 'FCM (Google)',
    fields: [
      text('project-id', 'app_id', 'project id; without it, the one in the JSON'),
      file('service-account', 'JSON key of a service account'),
    ],
    examples: ['certificate set fcm --service-account service-account.json'],
  },
  huawei: {
    title: 'Huawei',
    fields: [
      text('client-id', 'app_id', 'client id (App ID)'),
      text('project-id', 'app_key', 'project id; without it, the older interface is called'),
      secret('client-secret', 'app_secret', 'client secret'),
      file('service-account', 'JSON key of a service account, for the newest interface'),
    ],
    examples: ['certificate set huawei --client-id 104 --project-id 736 --client-secret-file secret.txt'],
  },
  honor: {
    title: 'Honor',
    fields: [
      text('app-id', 'app_id', 'app id'),
      text('client-id', 'app_key', 'client id'),
      secret('client-secret', 'app_secret', 'client secret'),
    ],
    examples: ['certificate set honor --app-id 104 --client-id 9a1b --client-secret-file secret.txt'],
  },
  xiaomi: {
    title: 'Xiaomi',
    fields: appFields,
    examples: [
      `certificate set xiaomi --app-id 2882 --app-key 5801 --app-secret-file secret.txt --extra '{"package_name":"com.example.shop"}'`,
    ],
  },
  oppo: {
    title: 'OPPO',
    fields: [
      text('app-id', 'app_id', 'App ID'),
      text('app-key', 'app_key', 'App Key'),
      secret('master-secret', 'app_secret', 'Master Secret'),
    ],
    examples: ['certificate set oppo --app-id 301 --app-key 9d2c --master-secret-file secret.txt'],
  },
  vivo: {
    title: 'vivo',
    fields: appFields,
    examples: ['certificate set vivo --app-id 105 --app-key 41ab --app-secret-file secret.txt'],
  },
  meizu: {
    title: 'Meizu',
    fields: appFields,
    examples: ['certificate set meizu --app-id 110 --app-key 7c1e --app-secret-file secret.txt'],
  },
}

/** What the interface calls the vendor. */
export const providerNumber = (vendor: VendorChannel) => providerOf(vendor) as 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8
