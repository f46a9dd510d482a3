import type { ApiDeps } from '@herald/api'
import {
  certificateAt,
  closeCertificate,
  reopenCertificate,
  type StoredCertificate,
  saveCertificate,
} from '@herald/db/certificates'
import { listDevices, openDeviceWriter } from '@herald/db/devices'
import {
  type Application,
  changePassword,
  createApplication,
  createUser,
  findApplication,
  findUserByName,
  presetRegister,
} from '@herald/db/tenants'
import { publicName, type VendorChannel, vendorChannels } from '@herald/domain'
import { packageName } from '@herald/simulators'
import { type DemoCredentials, demoCertificate } from './credentials.ts'
import { type DemoChange, demoDevices } from './devices.ts'
import type { Simulation } from './simulators.ts'

type SeedDeps = Pick<ApiDeps, 'db' | 'sealer' | 'pushTokens' | 'passwords' | 'certificates'>
export type Seeded = { application: Application; userId: bigint }

const applicationName = 'Herald demo'

/**
 * Creates the missing parts of the demo and leaves the rest unchanged, so it may run at every start and be killed at any
 * point. A replaced certificate stays; the demo's own is reopened, because its simulator has forgotten why it was closed.
 */
export async function seedDemo(
  deps: SeedDeps,
  credentials: DemoCredentials,
  simulation: Simulation,
): Promise<Seeded> {
  const application = await findOrCreateApplication(deps, credentials)
  const { appId } = application
  // The page /native/demo registers a device without a user.
  await presetRegister(deps.db, appId)
  const userId = await findOrCreateUser(deps, appId, credentials)
  for (const channel of simulation.channels) await prepareChannel(deps, appId, channel, credentials)
  await restoreDevices(deps, appId, demoDevices(userId, simulation.channels))
  const certificates = await deps.certificates.of(appId)
  for (const channel of simulation.channels) {
    const serving = certificates.serving(channel, 1)
    if ('callbackUrl' in serving && serving.callbackUrl)
      simulation.registerReceipts(channel, serving.callbackUrl)
  }
  return { application, userId }
}

async function findOrCreateApplication(
  { db }: SeedDeps,
  { application }: DemoCredentials,
): Promise<Application> {
  const { appId } = application
  const find = () => findApplication(db, appId)
  const known = await find()
  if (known) return known
  // A shared database may contain the demo of another data directory, whose secret is not known here.
  for (const name of [applicationName, `${applicationName} ${appId}`])
    if ((await createApplication(db, { ...application, name, packageName })) !== 'taken') break
  const created = await find()
  if (!created) throw new Error(`The application ${applicationName} could not be created`)
  return created
}

/** demo.json shows the password, so a changed password is reset. */
async function findOrCreateUser(
  { db, passwords, pushTokens }: SeedDeps,
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
    if ('taken' in created) throw new Error(`The demo user could not be created: ${created.taken} is taken`)
    return created.userId
  }
  if (!(await passwords.verify(password, known.passwordHash)))
    await changePassword(db, pushTokens, { appId }, known.userId, await passwords.hash(password))
  return known.userId
}

async function prepareChannel(
  { db, sealer }: SeedDeps,
  application: string,
  channel: VendorChannel,
  credentials: DemoCredentials,
): Promise<void> {
  const place = { application, channel, environment: 'production' as const }
  const fields = demoCertificate(channel, credentials)
  const known = await certificateAt(db, sealer, place)
  if (!known)
    await saveCertificate(db, sealer, { ...place, ...fields, name: `Simulated ${publicName(channel)}` })
  else if (known.state !== 'open' && isDemoCertificate(known, channel, credentials))
    await reopenCertificate(db, known.id)
}

/** Without the simulators, the demo's made-up credentials would be sent to the real vendors. `seedDemo` opens them again. */
export async function closeDemoCertificates(
  { db, sealer }: Pick<SeedDeps, 'db' | 'sealer'>,
  credentials: DemoCredentials,
): Promise<void> {
  const { appId: application } = credentials.application
  for (const channel of vendorChannels) {
    const known = await certificateAt(db, sealer, { application, channel, environment: 'production' })
    if (known && isDemoCertificate(known, channel, credentials))
      await closeCertificate(
        db,
        known.id,
        { code: 'herald.simulators_off', text: 'The simulators are off (HERALD_SIMULATORS).' },
        { probed: false },
      )
  }
}

function isDemoCertificate(
  known: StoredCertificate,
  channel: VendorChannel,
  credentials: DemoCredentials,
): boolean {
  const { appSecret, certificate } = demoCertificate(channel, credentials)
  return known.appSecret === appSecret && known.certificate === certificate
}

/** Restores devices that were removed, or whose token was retired: the restarted simulator accepts it again. */
async function restoreDevices(
  { db, pushTokens }: SeedDeps,
  appId: string,
  wanted: DemoChange[],
): Promise<void> {
  const missing = await Promise.all(
    wanted.map(async (device) => {
      const [known] = await listDevices(db, pushTokens, { appId }, { guid: device.guid }, { limit: 1 })
      const has = (channel: VendorChannel) => known?.bindings.some((binding) => binding.channel === channel)
      return known && device.bindings.every(({ channel }) => has(channel)) ? [] : [device]
    }),
  )
  if (missing.flat().length > 0) await openDeviceWriter(db, pushTokens, appId).write(missing.flat())
}
