import type { ApiDeps } from '@herald/api'
import { certificateAt, reopenCertificate, saveCertificate } from '@herald/db/certificates'
import { type ImportDevice, listDevices, openDeviceImport } from '@herald/db/devices'
import {
  type Application,
  changePassword,
  createApplication,
  createUser,
  findApplication,
  findUserByName,
} from '@herald/db/tenants'
import { publicName, type VendorChannel } from '@herald/domain'
import { certificateFields, packageName } from './certificates.ts'
import type { DemoCredentials } from './credentials.ts'
import { demoDevices } from './devices.ts'
import type { Simulation } from './simulators.ts'

type SeedDeps = Pick<ApiDeps, 'db' | 'sealer' | 'passwords' | 'certificates'>
export type Seeded = { application: Application; userId: bigint }

const applicationName = 'Herald demo'

/**
 * Makes what is missing of the demo and leaves the rest as it is, so it may run at every start and be cut short at any line.
 * A certificate that somebody replaced is theirs; the demo's own is opened again, because its vendor began anew.
 */
export async function seedDemo(
  deps: SeedDeps,
  credentials: DemoCredentials,
  simulation: Simulation,
): Promise<Seeded> {
  const application = await findOrMakeApplication(deps, credentials)
  const { appId } = application
  const userId = await findOrMakeUser(deps, appId, credentials)
  for (const channel of simulation.channels) await prepareChannel(deps, appId, channel, credentials)
  await putBackDevices(deps, appId, demoDevices(userId, simulation.channels))
  const certificates = await deps.certificates.of(appId)
  for (const channel of simulation.channels) {
    const serving = certificates.serving(channel, 1)
    if ('callbackUrl' in serving && serving.callbackUrl)
      simulation.registerReceipts(channel, serving.callbackUrl)
  }
  return { application, userId }
}

async function findOrMakeApplication(
  { db }: SeedDeps,
  { application }: DemoCredentials,
): Promise<Application> {
  const { appId } = application
  const find = () => findApplication(db, appId)
  const known = await find()
  if (known) return known
  // A database that is shared may hold the demo of another data directory, whose secret only that one knows.
  for (const name of [applicationName, `${applicationName} ${appId}`])
    if ((await createApplication(db, { ...application, name, packageName })) !== 'taken') break
  const made = await find()
  if (!made) throw new Error(`The application ${applicationName} could not be made`)
  return made
}

/** demo.json shows the password, so one that was changed is set back. */
async function findOrMakeUser(
  { db, passwords }: SeedDeps,
  appId: string,
  { user: { username, password } }: DemoCredentials,
): Promise<bigint> {
  const known = await findUserByName(db, appId, username)
  if (!known) {
    const created = await createUser(
      db,
      { appId },
      { username, passwordHash: await passwords.hash(password) },
    )
    if ('taken' in created) throw new Error(`The demo user could not be made: ${created.taken} is taken`)
    return created.userId
  }
  if (!(await passwords.verify(password, known.passwordHash)))
    await changePassword(db, { appId }, known.userId, await passwords.hash(password))
  return known.userId
}

async function prepareChannel(
  { db, sealer }: SeedDeps,
  application: string,
  channel: VendorChannel,
  credentials: DemoCredentials,
): Promise<void> {
  const place = { application, channel, environment: 'production' as const }
  const fields = certificateFields[channel](credentials)
  const known = await certificateAt(db, sealer, place)
  if (!known)
    await saveCertificate(db, sealer, { ...place, ...fields, name: `Simulated ${publicName(channel)}` })
  else if (
    known.state !== 'open' &&
    known.appSecret === fields.appSecret &&
    known.certificate === fields.certificate
  )
    await reopenCertificate(db, known.id)
}

/** Devices that were removed, or lost a token to the dead list of a simulator that has forgotten it since. */
async function putBackDevices({ db }: SeedDeps, appId: string, wanted: ImportDevice[]): Promise<void> {
  const missing = await Promise.all(
    wanted.map(async (device) => {
      const [known] = await listDevices(db, { appId }, { guid: device.guid }, { limit: 1 })
      const has = (channel: VendorChannel) => known?.bindings.some((binding) => binding.channel === channel)
      return known && device.bindings.every(({ channel }) => has(channel)) ? [] : [device]
    }),
  )
  if (missing.flat().length > 0) await openDeviceImport(db, appId).add(missing.flat())
}
