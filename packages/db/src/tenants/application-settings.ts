import type { Strategy } from '@herald/domain'
import { auditRow, type By } from '../ledger/audit-rows.ts'
import type { Database } from '../store/database.ts'
import { inPrismaTransaction } from '../store/statement.ts'

export type ApplicationSettings = {
  /** Whether devices may register without a user. */
  register: boolean
  /** Maximum number of such registrations per day (UTC). */
  registerPerDay: number
  /** For pushes that name none; null: the default of the API. */
  defaultStrategy: Strategy | null
  /** In seconds. */
  defaultTtl: number | null
  /** Marketing messages per device, channel and day, for certificates without their own number; null: the vendor's number. */
  perDevicePerDay: number | null
}

export const defaultApplicationSettings: ApplicationSettings = {
  register: false,
  registerPerDay: 10_000,
  defaultStrategy: null,
  defaultTtl: null,
  perDevicePerDay: null,
}

const select = {
  register: true,
  registerPerDay: true,
  defaultStrategy: true,
  defaultTtl: true,
  perDevicePerDay: true,
} as const

export async function applicationSettings(db: Database, appId: string): Promise<ApplicationSettings> {
  const row = await db.prisma.applicationSetting.findUnique({ where: { appId }, select })
  return row ? settingsOf(row) : defaultApplicationSettings
}

type Row = Omit<ApplicationSettings, 'defaultStrategy'> & { defaultStrategy: string | null }

function settingsOf(row: Row): ApplicationSettings {
  return { ...row, defaultStrategy: row.defaultStrategy as Strategy | null }
}

/** Allows devices to register without a user, unless an admin has changed any setting. */
export async function presetRegister(db: Database, appId: string): Promise<void> {
  await db.pool.query(
    'INSERT INTO application_setting (app_id, register) VALUES ($1, true) ON CONFLICT DO NOTHING',
    [appId],
  )
}

/** Settings that are absent stay as they are. */
export async function changeApplicationSettings(
  db: Database,
  appId: string,
  change: Partial<ApplicationSettings>,
  by?: By,
): Promise<ApplicationSettings> {
  return inPrismaTransaction(db, async (prisma) => {
    const changed = await prisma.applicationSetting.upsert({
      where: { appId },
      create: { appId, ...defaultApplicationSettings, ...change },
      update: change,
      select,
    })
    // Processes notice a change of the application by the xmin of its row; that of the settings changes with every registration.
    await prisma.$executeRaw`UPDATE application SET token_version = token_version WHERE id = ${appId}`
    if (by)
      await prisma.audit.create({
        data: auditRow({ appId, by, action: 'application.settings', detail: change }),
      })
    return settingsOf(changed)
  })
}
